// Sources and packages in; headwater/ui/static out: page.js and page.css, with a digest of the sources in the first line.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const out = `${here}../headwater/ui/static/`;
const names = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", "index.html"];
names.push(...readdirSync(`${here}src`).map((name) => `src/${name}`));
const hash = createHash("sha256");
for (const name of names.sort()) hash.update(`${name}\0`).update(readFileSync(here + name)).update("\0");
const digest = hash.digest("hex");

await build({
  absWorkingDir: here,
  entryPoints: ["src/page.ts"],
  outdir: out,
  bundle: true,
  external: ["/static/*"],
  minify: true,
  target: "es2022",
  format: "iife",
  legalComments: "eof",
  charset: "utf8",
  logLevel: "warning",
  banner: { js: `/* sources ${digest} */`, css: `/* sources ${digest} */` },
});
writeFileSync(`${out}index.html`, readFileSync(`${here}index.html`));
