// Runs the program, built first if need be:  npm run sluice -- ARGS
import { main, run } from './lib.mjs';
import { build_program } from './build.mjs';

main(async () => {
  const program = await build_program();
  // npm changes to the checkout; file names are meant from where the user is.
  const cwd = process.env.INIT_CWD ?? process.cwd();
  return run(program, process.argv.slice(2), { cwd });
});
