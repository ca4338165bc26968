/**
 * `npm run archive:version -- NAME`: keeps the program as it is in test/versions/NAME.json.br, for the test that
 * starts it beside a later one. A clean clone may lack the tags, so it is no commit's name: it is the files, without
 * packages, as one compressed JSON of their texts by their paths.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'

/** All that `node src/main.ts` reads; the command line and what looks at an installation are no part of it. */
const kept = [
  'src',
  'migrations',
  'web',
  'sdk/audit',
  'sdk/client',
  'sdk/device',
  'sdk/webhooks',
  'package.json',
]
const left = [':!src/cli', ':!src/service/doctor']

const root = fileURLToPath(new URL('..', import.meta.url))
const [name = ''] = process.argv.slice(2)
if (!/^[a-z0-9.-]+$/.test(name))
  throw new Error('Say its name: npm run archive:version -- schema-1')

const listed = execFileSync('git', ['ls-files', '-z', '--', ...kept, ...left], { cwd: root })
const paths = listed.toString().split('\0').filter(Boolean)
const files = Object.fromEntries(
  paths.map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]),
)
const compressed = brotliCompressSync(JSON.stringify(files), {
  params: { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS },
})
writeFileSync(`${root}test/versions/${name}.json.br`, compressed)
console.log(`${paths.length} files, ${compressed.length} bytes`)
