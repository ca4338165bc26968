import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberParameters, splitStatements } from '../../../src/storage/engine/statements.ts'

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
