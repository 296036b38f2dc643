"""Blur a photograph by a product of two-dimensional Fourier transforms: `python examples/acml/convolution.py`."""

import argparse

import numpy as np
from PIL import Image

import headwater as hw
from headwater import data


def blur(picture, sigma, device):
    """The picture, convolved with a Gaussian that wraps around, on a device; only the result comes back."""
    height, width = picture.shape
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    transform = np.exp(-2 * (np.pi * sigma) ** 2 * (rows**2 + columns**2)).astype(np.complex64)
    spectrum = np.fft.rfft2(hw.stream(picture, device=device))
    return np.fft.irfft2(np.multiply(spectrum, hw.stream(transform, device=device)), s=picture.shape).read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="where: cpu, gpu, vega64, …")
    parser.add_argument("--size", type=int, default=0, help="cut the photograph to so many pixels squared")
    parser.add_argument("-o", "--output", default="", help="write the picture to this file")
    args = parser.parse_args()
    picture = np.asarray(Image.open(data.photograph()).convert("L"), np.float32)
    if args.size:
        picture = np.ascontiguousarray(picture[: args.size, : args.size])
    blurred = blur(picture, 3.0, args.device)
    rows, columns = np.fft.fftfreq(picture.shape[0])[:, None], np.fft.fftfreq(picture.shape[1])[None]
    transform = np.exp(-2 * (np.pi * 3.0) ** 2 * (rows**2 + columns**2))
    wanted = np.fft.ifft2(np.fft.fft2(picture.astype(float)) * transform).real
    print(f"{picture.shape[1]} x {picture.shape[0]} pixels on {args.device}")
    print(f"largest difference from NumPy's in double precision: {np.abs(blurred - wanted).max():.2g} of 255")
    if args.output:
        Image.fromarray(np.clip(blurred, 0, 255).astype(np.uint8)).save(args.output)


if __name__ == "__main__":
    main()
