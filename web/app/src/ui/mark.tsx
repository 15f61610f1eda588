/** The logo: a lifted gate, and water that flows under it. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">
      <path d="M6 4v17M26 4v17M6 4h20M11 8v6h10V8" />
      <path d="M3 27c2.2-2.6 4.3-2.6 6.5 0s4.3 2.6 6.5 0 4.3-2.6 6.5 0 4.3 2.6 6.5 0" />
    </svg>
  );
}
