import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkText } from '../../scripts/check-lint.ts'

const found = (path: string, text: string): string[] =>
  checkText(path, text).map(({ found: phrase, line }) => `${line} ${phrase}`)

test('a listed phrase is found in comments, messages and documents, with its line', () => {
  const code = `const a = 1\n/** Whoever calls this gets it. */\nconst b = 'The database is away now.'\n`
  assert.deepEqual(found('src/a.ts', code), ['2 Whoever', '3 is away'])
  assert.deepEqual(found('database/a.sql', 'select 1;\n-- Nobody waits for this row.\n'), [
    '2 Nobody',
  ])
  const page = '# Title\n\n```sh\nwhoever | less of this\n```\n\nThe key is told of by events.\n'
  assert.deepEqual(found('docs/a.md', page), ['7 is told'])
})

test('names in code, and comments without a listed phrase, are not found', () => {
  assert.deepEqual(found('src/a.ts', 'const nobody = whoever(somebody)\n'), [])
  assert.deepEqual(found('src/a.ts', '/** Returns the status of a card. */\n'), [])
})

test('the check prints a summary and never fails', () => {
  const script = join(import.meta.dirname, '../../scripts/check-lint.ts')
  const { status, stdout } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  assert.equal(status, 0)
  assert.match(stdout, /\nlint: \d+ sentences to look at, in \d+ files\n$/)
})
