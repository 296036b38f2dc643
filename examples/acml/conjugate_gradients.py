"""Solve a system of equations by conjugate gradients, whose vectors stay on a device.

`python examples/acml/conjugate_gradients.py --device vega64`
"""

import argparse

import numpy as np

import headwater as hw


def solve(a, b, device, tolerance=1e-10, steps=200):
    """x of a x = b for a symmetric positive definite matrix, and the steps taken; numbers are all that comes back."""
    matrix = hw.stream(a, device=device)
    x = hw.stream(np.zeros_like(b), device=device)
    residual = hw.stream(b, device=device)
    direction = residual
    square = float(np.matmul(residual, residual).read())
    taken = 0
    while taken < steps and square**0.5 > tolerance * np.linalg.norm(b):
        taken += 1
        product = np.matmul(matrix, direction)
        length = square / float(np.matmul(direction, product).read())
        x = np.add(x, np.multiply(direction, length))
        residual = np.subtract(residual, np.multiply(product, length))
        before, square = square, float(np.matmul(residual, residual).read())
        direction = np.add(residual, np.multiply(direction, square / before))
    return x.read(), taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="where: cpu, gpu, vega64, …")
    parser.add_argument("-n", type=int, default=300, help="unknowns")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((args.n, args.n))
    a = factor @ factor.T / args.n + np.eye(args.n)
    b = rng.standard_normal(args.n)
    x, steps = solve(a, b, args.device)
    print(f"{args.n} unknowns on {args.device}: {steps} steps, residual {np.linalg.norm(a @ x - b):.1e}")


if __name__ == "__main__":
    main()
