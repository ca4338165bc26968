import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listNodeFunctions, readFunctionFiles } from '../../../src/storage/engine/functions.ts'
import { placement } from '../../../src/storage/engine/placement.ts'
import { listDocumented } from '../../support/cluster-document.ts'
import { listRefusals } from '../../support/cluster-rules.ts'
import { listDeclaredStatements } from '../../support/declared-statements.ts'

test('no statement that a cluster is sent breaks a rule of it, and each that is never sent does', async () => {
  const broken: Record<string, readonly string[]> = {}
  for (const { name, text } of await listDeclaredStatements()) {
    // Those for several are never sent to a cluster.
    if (name.endsWith('_several')) continue
    const refusals = listRefusals(text)
    if (refusals.length > 0) broken[name] = refusals
  }
  const neverSent = await listDocumented('Never sent to a cluster')
  assert.deepEqual(
    Object.keys(broken).sort(),
    // It is sent: the engine only does not explain it.
    neverSent.filter((name) => name !== 'lock_migrations'),
    JSON.stringify(broken, null, 2),
  )
})

/** The statements of a function that read or change tables. */
const statementsOf = (text: string): readonly string[] => {
  const [, body = ''] = text.split('$function$')
  return body
    .split(';')
    .map((part) => /\b(?:with|insert|update|delete|select)\b[\s\S]*/.exec(part)?.[0] ?? '')
    .filter((statement) => statement !== '')
}

test('no statement of a function breaks a rule of a cluster', async () => {
  const broken: Record<string, readonly string[]> = {}
  assert.ok((await readFunctionFiles()).some(({ text }) => statementsOf(text).length > 0))
  for (const { fileName, text } of await readFunctionFiles()) {
    // Those for several are never called on a cluster.
    if (fileName.endsWith('-several.sql')) continue
    const refusals = statementsOf(text).flatMap(listRefusals)
    if (refusals.length > 0) broken[fileName] = refusals
  }
  assert.deepEqual(broken, {})
})

test('functions that read tables are in PL/pgSQL: a cluster refuses parameters of SQL functions', async () => {
  const tables = placement.spread.flatMap((each) => each.tables).join('|')
  const reads = new RegExp(`\\b(?:from|join) (?:${tables})\\b`)
  const refused = (await readFunctionFiles()).filter(
    ({ text }) => /^language sql$/m.test(text) && reads.test(text),
  )
  assert.deepEqual(
    refused.map(({ fileName }) => fileName),
    [],
  )
})

test('a cluster creates each function after those that it calls', async () => {
  const listed = listNodeFunctions(await readFunctionFiles())
  const early = listed.flatMap(({ functionName, text }, at) =>
    listed
      .slice(at + 1)
      .filter((later) => new RegExp(`\\b${later.functionName}\\(`).test(text))
      .map((later) => `${functionName} before ${later.functionName}`),
  )
  assert.deepEqual(early, [])
})

test('a name belongs to one statement only', async () => {
  const names = (await listDeclaredStatements()).map(({ name }) => name)
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
})

const refused: Readonly<Record<string, string>> = {
  'a limit in a lateral subquery over shards': `
    with taken as (delete from pin_envelope where true returning *)
    select result from taken cross join lateral (
      select * from authorization_request as request
      where request.public_token = taken.public_token limit 1
    ) as request`,
  'an aggregate in a lateral subquery over shards': `
    select last from feed_head cross join lateral (
      select max(position) as last from published_event
      where published_event.client_id = feed_head.client_id
    ) as own`,
  'an aggregate in a correlated subquery over shards': `
    delete from authorization_request where requested_at < $1 and (
      select count(*) from pin_envelope
      where pin_envelope.public_token = authorization_request.public_token
    ) = 0`,
  'a limit in a correlated subquery over shards': `
    select client_id, (
      select occurred_at from published_event
      where published_event.client_id = feed_head.client_id order by position limit 1
    ) from feed_head`,
  'rows locked over shards by a select, skipping locked ones': `
    with due as (select webhook_id from delivery_queue where due_at < $1 for update skip locked)
    select webhook_id from due`,
  'rows locked over shards by a select':
    'select 1 from card where client_id = $1 for no key update',
  'a volatile function in a change': `
    update delivery_queue set due_at = clock_timestamp() where client_id = $1`,
  'a stable function in a case of a change': `
    update webhook set disabled_at = case when $2 then now() end where client_id = $1`,
  'a stable function in a coalesce of a change': `
    update webhook set disabled_at = coalesce(disabled_at, now()) where client_id = $1`,
  'a case of one value in a change': `
    update authorization_request set result = case try_number when $2 then 'match' else result end
    where public_token = $1`,
  'a function in what a change returns': `
    delete from card_limit where public_token = $1 returning to_char(forget_on_day, '9')`,
  'a table of the coordinator beside a spread one':
    'select 1 from card join audit_act on subject = public_token where public_token = $1',
}

for (const [refusal, text] of Object.entries(refused)) {
  test(`a statement with ${refusal} is found`, () => {
    assert.deepEqual(listRefusals(text), [refusal])
  })
}

test('an insert with a case of one value is found, too', () => {
  const text = `insert into card_limit (public_token, limit_name)
    values ($1, case $2 when 'a' then 'b' end)`
  assert.deepEqual(listRefusals(text), ['a case of one value in a change'])
})

test('what goes to one shard may do what several refuse', () => {
  const text = `with queue as (
      select webhook_id from delivery_queue where client_id = $1 for update skip locked
    )
    select due.due_at, 'limit 1' from queue cross join lateral (
      select due_at from delivery_group where client_id = $1 and webhook_id = queue.webhook_id limit 1
    ) as due`
  assert.deepEqual(listRefusals(text), [])
})
