'use client';
import { useEffect, useRef } from 'react';
import { write } from '../write.js';

export default function Page() {
  const output = useRef(null);
  useEffect(() => {
    write(output.current);
  }, []);
  return <output ref={output} />;
}
