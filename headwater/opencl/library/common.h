/* Common functions of 6.12.4 for one type T; K(x) is a constant of it. */
PURE T min(T x, T y) { return y < x ? y : x; }
PURE T max(T x, T y) { return x < y ? y : x; }
PURE T clamp(T x, T low, T high) { return min(max(x, low), high); }
PURE T mix(T x, T y, T a) { return FMA(y - x, a, x); }
PURE T step(T edge, T x) { return x < edge ? K(0.0) : K(1.0); }
PURE T smoothstep(T edge0, T edge1, T x) {
  T t = clamp((x - edge0) / (edge1 - edge0), K(0.0), K(1.0));
  return t * t * (K(3.0) - K(2.0) * t);
}
PURE T sign(T x) {
  T r = x > K(0.0) ? K(1.0) : x < K(0.0) ? K(-1.0) : x;
  return x != x ? K(0.0) : r;
}
PURE T degrees(T x) { return x * K(57.295779513082320876798154814105); }
PURE T radians(T x) { return x * K(0.017453292519943295769236907684886); }
