// Sets up and builds what is needed, and serves the page on localhost.
//   npm start [-- --port N] [--no-isolation]
import { main } from './lib.mjs';
import { build_web } from './build.mjs';
import { serve_and_say, serve_options } from './serve.mjs';

main(async () => {
  const options = serve_options(process.argv.slice(2));
  await build_web();
  return serve_and_say(options);
});
