import { mergeConfig } from 'vite';
import { defineConfig } from 'vitest/config';
import page from './vite.config';

export default mergeConfig(page, defineConfig({ test: { setupFiles: ['test/setup.ts'] } }));
