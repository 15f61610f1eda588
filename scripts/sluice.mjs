// Builds the program if needed, and runs it:  npm run sluice -- ARGS
import { main, run } from './lib.mjs';
import { build_program } from './build.mjs';

main(async () => {
  const program = await build_program();
  // npm changes to the checkout, but file names are relative to the user's directory.
  const cwd = process.env.INIT_CWD ?? process.cwd();
  return run(program, process.argv.slice(2), { cwd });
});
