"""The small ``.br`` files of this folder, each with the options it needs."""

from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
OPTIONS = {"group": "-pp"}
NAMES = sorted(path.stem for path in CORPUS.glob("*.br"))


def read(name):
    return (CORPUS / f"{name}.br").read_text(encoding="utf-8")


def options(name):
    return OPTIONS.get(name, "")
