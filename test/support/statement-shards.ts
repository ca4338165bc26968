/**
 * Says of each statement of the program how many shards of a cluster it is sent to at once, by the
 * plans that the cluster makes of it: `node test/support/statement-shards.ts URL`. One line of
 * JSON: by name, the greatest number of tasks of a part of it; 0 where no part leaves the
 * coordinator; the engine's words where it takes it not at all.
 */
import pg from 'pg'
import { listDeclaredStatements } from './declared-statements.ts'

/** Values enough that they are of several shards. */
const several = (value: (at: number) => string): string =>
  `'{${Array.from({ length: 32 }, (_, at) => value(at)).join()}}'`

/** A value of each type that a statement takes. */
const values: Readonly<Record<string, string>> = {
  text: `'1000000000'`,
  'text[]': several((at) => String(1_000_000_000 + at)),
  integer: '1',
  'integer[]': several((at) => String(at + 1)),
  bigint: '1',
  'bigint[]': several((at) => String(at + 1)),
  smallint: '1',
  'smallint[]': several((at) => String(at + 1)),
  'double precision': '1',
  'double precision[]': several((at) => String(at + 1)),
  boolean: 'true',
  'boolean[]': several(() => 'true'),
  bytea: `'\\x01'`,
  'bytea[]': several((at) => `"\\\\x${String(at + 10)}"`),
  date: `'2026-01-01'`,
  'date[]': `'{2026-01-01}'`,
  'timestamp with time zone': `'2026-01-01'`,
  'timestamp with time zone[]': `'{2026-01-01}'`,
  jsonb: `'[]'`,
  uuid: `'00000000-0000-4000-8000-000000000002'`,
  'uuid[]': several((at) => `00000000-0000-4000-8000-0000000000${10 + at}`),
  regclass: `'card'`,
  name: `'create_card'`,
}

/** Every number of tasks in a plan. */
const tasksIn = (plan: unknown): number[] => {
  if (plan === null || typeof plan !== 'object') return []
  return Object.entries(plan).flatMap(([member, value]) =>
    member === 'Task Count' ? [Number(value)] : member === 'Tasks' ? [] : tasksIn(value),
  )
}

/** A text that a statement takes for an id. */
const ofIds = { ...values, text: values.uuid, 'text[]': values['uuid[]'] }

/**
 * The greatest number of tasks of a part, or the engine's words where it takes the statement not at
 * all.
 */
async function countShards(client: pg.Client, text: string): Promise<number | string> {
  const shards = await explain(client, text, values)
  // The values are not of the kind that the text wants: it says nothing about the cluster.
  return typeof shards === 'string' && /^invalid input syntax/.test(shards)
    ? explain(client, text, ofIds)
    : shards
}

async function explain(
  client: pg.Client,
  text: string,
  given: Readonly<Record<string, string | undefined>>,
): Promise<number | string> {
  await client.query('begin')
  try {
    await client.query(`prepare examined as ${text}`)
    const { rows } = await client.query(
      `select parameter_types::text[] as types from pg_prepared_statements where name = 'examined'`,
    )
    const types: string[] = rows[0].types
    // Written into the text: the engine explains no prepared insert of what it selects.
    const explained = text.replace(/\$(\d+)/g, (_, number) => {
      const type = types[Number(number) - 1] ?? ''
      if (given[type] === undefined) throw new Error(`No value of the type ${type} is given.`)
      return `${given[type]}::${type}`
    })
    const plan = await client.query(`explain (format json) ${explained}`)
    return Math.max(0, ...tasksIn(plan.rows[0]['QUERY PLAN']))
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await client.query('rollback')
    await client.query('deallocate all')
  }
}

const client = new pg.Client({ connectionString: process.argv[2] })
await client.connect()
const shards: Record<string, number | string> = {}
for (const { name, text } of await listDeclaredStatements()) {
  // Those for several are never sent to a cluster.
  if (!name.endsWith('_several')) shards[name] = await countShards(client, text)
}
await client.end()
console.log(JSON.stringify(shards))
