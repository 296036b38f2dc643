import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden texts anew; read the diff afterwards"
    )


@pytest.fixture
def update_golden(request):
    return request.config.getoption("--update-golden", default=False)
