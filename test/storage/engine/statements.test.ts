import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { numberParameters, splitStatements } from '../../../src/storage/engine/statements.ts'

const root = new URL('../../../', import.meta.url)

test('parameters are numbered in the order in which they first appear, each once', () => {
  const written = `update card set note = :note, at = 'HH24:MI:SS', raw = E
    where public_token = :publicToken and kind = any(array[:kind::text]) and note <> :note::text`
  assert.deepEqual(numberParameters(written), {
    parameters: ['note', 'publicToken', 'kind'],
    text: `update card set note = $1, at = 'HH24:MI:SS', raw = E
    where public_token = $2 and kind = any(array[$3::text]) and note <> $1::text`,
  })
  const slice = "select tries[: place], tries[1 : 2], \"a:b\", 'it''s :no' from try_counter"
  assert.deepEqual(numberParameters(slice), { text: slice, parameters: [] })
})

for (const [title, written] of [
  ['a slice whose end touches its colon', 'select tries[1:place]'],
  ['a slice without a beginning', 'select tries[:place]'],
  ['a comment behind code', "select 1 -- it's :one"],
  ['a comment within a line', 'select /* :one */ 1'],
  ['a text in dollars', 'select $$ :one $$'],
  ['a text with escapes', String.raw`select E'\':one'`],
  ['a second statement', 'select 1; select 2'],
] as const) {
  test(`a statement with ${title} is refused, not read wrongly`, () => {
    assert.throws(() => numberParameters(written), /A statement cannot have/)
  })
}

test('a file gives each statement by its name, without the comments', () => {
  const source = `-- Of cards.

-- name: first
select 1
  -- because
  from card;

-- Why there is another.
-- name: second
select 2;
`
  assert.deepEqual(
    [...splitStatements(source)],
    [
      ['first', 'select 1\n  from card'],
      ['second', 'select 2'],
    ],
  )
  const again = `${source}-- name: first\nselect 3;\n`
  assert.throws(() => splitStatements(again), /Two statements are called first/)
})

test('a statement for several callers has the numbers of that for one', () => {
  const { text } = numberParameters('select :names, :tokens', ['tokens', 'names'])
  assert.equal(text, 'select $2, $1')
  assert.throws(() => numberParameters('select :names', ['tokens']), /is given only tokens/)
})

const sources = globSync('src/**/*.ts', { cwd: fileURLToPath(root) }).map((file) => ({
  file,
  source: readFileSync(new URL(file, root), 'utf8'),
}))

/** The engine reads statements from files; what it writes itself stands there as one text. */
const loader = 'src/storage/engine/statements.ts'

test('no statement is assembled from pieces at run time', () => {
  const assembled = sources
    .filter(({ file }) => file !== loader)
    .flatMap(({ file, source }) =>
      [...source.matchAll(/\bstatement\(\s*(['"`])[\s\S]*?\n?\)/g)]
        .filter(([call]) => call.includes('${'))
        .map(([call]) => `${file}: ${call}`),
    )
  assert.deepEqual(assembled, [])
})

test('only the engine has statements that stand in no file, and commands that are no statements', () => {
  const written = sources
    .filter(({ source }) => /\bstatement\(|\.script\(/.test(source))
    .map(({ file }) => file)
  assert.deepEqual(
    written.filter((file) => !file.startsWith('src/storage/engine/')),
    [],
  )
})
