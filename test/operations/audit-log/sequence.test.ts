import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { pino } from 'pino'
import { readRoot } from '../../../packages/audit/tiles.ts'
import { emptyRoot, nodeHash } from '../../../packages/audit/tree.ts'
import { createTileReader } from '../../../src/operations/audit-log/audit-log.ts'
import { batchSize, createSequencer } from '../../../src/operations/audit-log/sequence.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { auditLogJob, startJobs } from '../../../src/service/background.ts'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { enterAll, listEntries, origin, type StoredEntry } from '../../support/audit.ts'
import { ageAuthorizations } from '../../support/builders.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import { type CallOptions, sql, type TestService } from '../../support/service.ts'
import { onEachEngine, type Services } from '../authorizations/engines.ts'
import { keepRsaKeys } from '../card-data/service.ts'

const asAdmin = { listener: 'private', as: 'admin' } as const

/** Members of an entry's text, in their order. */
const members = [
  ...['entry', 'at', 'act', 'client', 'request', 'card', 'sequence', 'key', 'subject', 'number'],
  ...['outcome', 'reason', 'count', 'device', 'details'],
]

const call = async (
  service: TestService,
  [method, path, options]: readonly [string, string, CallOptions?],
  status: number,
) => {
  const answer = await service.call(method, path, options)
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
  return answer
}

let drawn = 0

/**
 * One of everything that is entered: of a card, of tries, disclosures given and refused, of an
 * administrator, on a key.
 */
const doOfEverything = async (service: TestService): Promise<IssuedCard> => {
  drawn += 1
  const clientId = `client-${drawn}`
  const card = await issueCard(service)
  const { pin, publicToken } = card
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const deviceKey = publicKey.export({ format: 'jwk' })
  const nonce = 'a'.repeat(16)
  await call(service, ['GET', `/card-pin/${publicToken}/pin`], 200)
  await call(
    service,
    ['POST', `/cards/${publicToken}/encrypted`, { body: { deviceKey, nonce } }],
    200,
  )
  await call(service, ['GET', '/card-pin/1000000001/pin'], 404)
  for (const tried of [pin, ...[1, 2, 3].map((step) => otherDigits(pin, step)), pin]) {
    assert.equal((await ask(service, pinTry(service, card, tried))).status, 200)
  }
  await call(service, ['POST', `/card-pin/${publicToken}/pin/unblock`], 204)
  const both = { ...pinTry(service, card), ...cvvTry(card) }
  assert.equal((await ask(service, both)).json.responseCode, '00')
  const body = { cardStatusCode: '62' }
  await call(service, ['PUT', `/cards/${publicToken}/status`, { body }], 204)
  const client = { clientId, clientName: 'A client', kind: 'client', scopes: [] }
  await call(service, ['POST', '//clients', { ...asAdmin, body: client }], 201)
  await call(service, ['POST', '//keys/cvk/rotate', asAdmin], 202)
  // Its minute is over.
  await sql(service.database, `update refused_disclosure set minute = minute - interval '1 minute'`)
  return card
}

const textOf = ({ text }: StoredEntry) => JSON.parse(text)

/**
 * What is entered is what was done, once each, in the order of each source; and the tree is of just
 * that.
 */
const holdsAll = async (database: Database): Promise<StoredEntry[]> => {
  const entries = await listEntries(database)
  assert.deepEqual(
    entries.map(({ index }) => index),
    entries.map((_, at) => at),
  )
  assert.equal(new Set(entries.map(({ entryId }) => entryId)).size, entries.length)
  const texts = entries.map(textOf)
  const events = await sql<{ entry: string; card: string; sequence: number; act: string }>(
    database,
    `select event_id as entry, public_token as card, sequence, type as act from event
     order by public_token, sequence`,
  )
  const entered = texts.filter(({ sequence }) => sequence !== undefined)
  // A stable order by card: within one it is that of the log.
  const byCard = entered.toSorted((one, other) =>
    one.card < other.card ? -1 : Number(one.card > other.card),
  )
  assert.deepEqual(
    byCard.map(({ act, card, entry, sequence }) => ({ entry, card, sequence, act })),
    events,
  )
  const acts = await sql<{ entry: string; number: number }>(
    database,
    'select act_id as entry, number::integer as number from audit_act order by number',
  )
  assert.deepEqual(
    acts.map(({ number }) => number),
    acts.map((_, at) => at + 1),
  )
  const numbered = texts.filter(({ number }) => number !== undefined)
  assert.deepEqual(
    numbered.map(({ entry, number }) => ({ entry, number })),
    acts,
  )
  const attempts = await sql<{ name: string }>(
    database,
    `select public_token || ' ' || kind || ' ' || try_number || ' ' || result as name
     from authorization_request
     where try_number is not null
       and (
         response_code is not null
         or requested_at <= (
           select timestamptz 'epoch' + position * interval '1 microsecond'
           from audit_entered
           where source = 'tries'
         )
       )
     order by name`,
  )
  const named = texts.flatMap((text) => nameTry(text) ?? [])
  assert.deepEqual(
    named.toSorted(),
    attempts.map(({ name }) => name),
  )
  for (const { commitment, salt, text } of entries) {
    const said = Buffer.concat([Buffer.from('pinfold audit entry v1\n'), salt, Buffer.from(text)])
    assert.equal(Buffer.from(commitment).toString('hex'), hash('sha256', said))
  }
  assert.equal(
    new Set(entries.map(({ salt }) => Buffer.from(salt).toString('hex'))).size,
    entries.length,
  )
  const leaves = entries.map(({ commitment }) =>
    hash('sha256', Buffer.concat([Buffer.of(0, 1), commitment]), 'buffer'),
  )
  const root = await readRoot(entries.length, createTileReader(database, 1))
  assert.deepEqual(Buffer.from(root), Buffer.from(treeHash(leaves)))
  const [log] = await sql(database, 'select size::integer as size from audit_log')
  assert.deepEqual(log, { size: entries.length })
  return entries
}

const uuidPattern = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const kinds = { pin: 'pin', cvv2: 'cvv' }
const results = { passed: 'match', failed: 'mismatch', unresolved: 'unresolved' }

/** Names the try of an entry by its card, kind, number and result; null without one. */
function nameTry({ act, card, details, reason = 'match' }: ReturnType<typeof textOf>) {
  if (act.endsWith('.attempted')) {
    return [card, act.split('.')[0], details.tryNumber, reason].join(' ')
  }
  if (!act.startsWith('authorization.') || details.tryNumber === undefined) return null
  const { check, result } = details.checks.at(-1)
  const [kind, name] = [Object.entries(kinds), Object.entries(results)].map(
    (names, at) => names.find(([each]) => each === [check, result][at])?.[1],
  )
  return [card, kind, details.tryNumber, name].join(' ')
}

/** The root as RFC 6962 section 2.1 defines it. */
const treeHash = (leaves: readonly Uint8Array[]): Uint8Array => {
  if (leaves.length < 2) return leaves[0] ?? emptyRoot
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1))
  return nodeHash(treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)))
}

/** A database of which one statement fails, as often as is said. */
const failing = (database: Database, name: string, times: number): Database => {
  let left = times
  const connectionOf = (connection: Connection): Connection => ({
    ...connection,
    async query(statement, values) {
      if (statement.name === name && left > 0) {
        left -= 1
        throw new Error('It fails.')
      }
      return connection.query(statement, values)
    },
  })
  return {
    ...database,
    transaction: (work) => database.transaction((own) => work(connectionOf(own))),
  }
}

/** Events of a client that were published, and nothing else of them. */
const fillFeed = async (database: Database, clientId: string, count: number, from = 1) => {
  await sql(
    database,
    `insert into published_event (client_id, position, event_id, public_token, sequence, type, occurred_at, details)
     select $1, 2 * n, gen_random_uuid(), '1000000001', n, 'pin.set', now(), '{}'
     from generate_series($2::integer, $3::integer) as n`,
    [clientId, from, from + count - 1],
  )
  await sql(
    database,
    `insert into feed_head (client_id, last_position) values ($1, $2)
     on conflict (client_id) do update set last_position = excluded.last_position`,
    [clientId, 2 * (from + count) - 1],
  )
}

onEachEngine(({ name, open, openOne }) => {
  /** What is entered by one test is there for the next: each looks at all that is. */
  let opened: Services
  before(async () => {
    opened = await open({ poolSize: 10 })
    // Drawing them for the card data that is disclosed would take seconds.
    await keepRsaKeys(opened.service)
  })

  test('each change, attempt, disclosure and act is entered once, without its secrets', async () => {
    const { database, service } = opened
    const { length: already } = await listEntries(database)
    const cards = [await doOfEverything(service)]
    await enterAll(database)
    cards.push(await doOfEverything(service))
    await enterAll(database)
    const entries = (await holdsAll(database)).slice(already)
    const acts = entries.map(({ act }) => act)
    const expected = [
      ...[
        'card.created',
        'card.status_changed',
        'card_data.revealed',
        'client.created',
        'key.rotation_begun',
      ],
      ...['pin.attempt_failed', 'pin.blocked', 'pin.revealed', 'pin.unblocked'],
      ...['authorization.approved', 'authorization.declined'],
    ]
    for (const act of expected) assert.ok(acts.includes(act), `${act} of ${[...new Set(acts)]}`)
    const refused = entries.map(textOf).filter(({ outcome }) => outcome === 'refused')
    assert.ok(refused.some(({ act, card }) => act === 'pin.revealed' && card === '1000000001'))
    for (const entry of entries) {
      const said = textOf(entry)
      const places = Object.keys(said).map((member) => members.indexOf(member))
      assert.deepEqual(
        places,
        [...new Set(places)].toSorted((a, b) => a - b),
        entry.text,
      )
      assert.equal(JSON.stringify(said), entry.text)
      assert.match(said.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      assert.deepEqual(
        [said.entry, said.act, said.client ?? null, said.card ?? null],
        [entry.entryId, entry.act, entry.clientId, entry.publicToken],
      )
      const { entry: _, at: __, request: ___, ...rest } = said
      // Random digits of an id or a thumbprint may be those of a CVV2.
      const withoutIds = JSON.stringify(rest).replaceAll(uuidPattern, '')
      const runs = withoutIds.match(/(?<![\w-])\d+(?![\w-])/g) ?? []
      for (const { cvv2, pan, pin } of cards) {
        const shown = runs.filter(
          // The number of a product has four digits.
          (run) => run === pin || run === cvv2 || (pan.includes(run) && run.length > 4),
        )
        assert.deepEqual(shown, [], entry.text)
      }
    }
  })

  test('each entry names its client or network, its request, and its device if any', async () => {
    const { service } = opened
    await doOfEverything(service)
    await enterAll(service.database)
    const texts = (await listEntries(service.database)).map(textOf)
    const sealed = texts.find(({ act }) => act === 'card_data.revealed')
    assert.equal(sealed.client, 'demo-client')
    assert.match(sealed.device, /^[\w-]{43}$/)
    const tries = texts.filter(({ act }) => act.startsWith('authorization.'))
    assert.ok(tries.length > 0 && tries.every(({ client }) => client === 'demo-client'))
    const asked = texts.filter(
      ({ act, sequence }) => sequence !== undefined && act !== 'pin.blocked',
    )
    assert.ok([...asked, ...tries].every(({ request }) => /^[\w-]{8,}/.test(request)))
    assert.ok(texts.every(({ outcome }) => ['done', 'refused', 'failed'].includes(outcome)))
  })

  test('two processes enter what both do at once, each by two sequencers, all of it once', async () => {
    const { services, database } = opened
    let isDone = false
    const entering = [...services, ...services].map(async ({ database: own }) => {
      const enter = createSequencer({ database: own, origin })
      while (!isDone) {
        await publishBatch(own).catch(() => undefined)
        await enter().catch((error) => {
          // The head was waited for too long: it comes again.
          assert.equal(error.code, 'unavailable')
        })
      }
    })
    try {
      await Promise.all(services.map(doOfEverything))
      await Promise.all(services.map(doOfEverything))
    } finally {
      isDone = true
    }
    await Promise.all(entering)
    await enterAll(database)
    assert.ok((await holdsAll(database)).length > 60)
  })

  test('a batch that fails halfway leaves nothing behind, and is entered the next time', async () => {
    const service = await openOne()
    await keepRsaKeys(service)
    const { database } = service
    await doOfEverything(service)
    while ((await publishBatch(database)) > 0);
    for (const statement of ['set_source_entered', 'set_feeds_entered', 'append_audit_entries']) {
      const enter = createSequencer({ database: failing(database, statement, 1), origin })
      await assert.rejects(enter(), { message: 'It fails.' })
      assert.deepEqual(await listEntries(database), [])
    }
    await enterAll(database)
    await holdsAll(database)
  })

  test('more than a batch is entered in several, and a client with much keeps no other waiting', async () => {
    const { database } = await openOne()
    await fillFeed(database, 'busy', 2 * batchSize)
    await fillFeed(database, 'quiet', 3)
    const enter = createSequencer({ database, origin })
    const sizes: number[] = []
    const enterOne = async (): Promise<number> => {
      const size = await enter()
      sizes.push(size)
      return size
    }
    await enterOne()
    const quiet = (await listEntries(database)).filter(({ clientId }) => clientId === 'quiet')
    assert.equal(quiet.length, 3)
    while ((await enterOne()) > 0);
    assert.ok(Math.max(...sizes) <= batchSize && sizes.length > 3, `${sizes}`)
    await fillFeed(database, 'quiet', 2, 4)
    await enterAll(database)
    const sequencesOf = async (clientId: string) =>
      (await listEntries(database))
        .filter((entry) => entry.clientId === clientId)
        .map((entry) => textOf(entry).sequence)
    assert.deepEqual(await sequencesOf('quiet'), [1, 2, 3, 4, 5])
    assert.deepEqual(
      await sequencesOf('busy'),
      Array.from({ length: 2 * batchSize }, (_, at) => at + 1),
    )
  })

  test('a try without a result is entered as failed in time, and delays no other', async () => {
    const { database, service } = opened
    const lost = await service.createCard()
    await sql(
      database,
      `select spend_try($1, 'demo-client', 'pin', gen_random_uuid(), 'demo-network', 'request-1', 'R-1',
        'chip', 'purchase', null, null, null, null, null, null, null)`,
      [lost.publicToken],
    )
    const card = await issueCard(service)
    await ask(service, pinTry(service, card))
    const cards: unknown[] = [card.publicToken, lost.publicToken]
    const entered = async () => {
      await enterAll(database)
      const texts = (await listEntries(database)).map(textOf)
      return texts
        .filter(({ card: of, details }) => details?.tryNumber && cards.includes(of))
        .map(({ act, card, client, outcome, reason }) => ({ act, card, client, outcome, reason }))
    }
    const known = {
      act: 'authorization.approved',
      card: card.publicToken,
      client: 'demo-client',
      outcome: 'done',
      reason: undefined,
    }
    assert.deepEqual(await entered(), [known])
    await ageAuthorizations(database, lost.publicToken, '35 seconds')
    const late = {
      act: 'pin.attempted',
      card: lost.publicToken,
      client: 'demo-network',
      outcome: 'failed',
      reason: 'unresolved',
    }
    assert.deepEqual(await entered(), [known, late])
  })

  test('the service enters and signs by itself what is done', { timeout: 240_000 }, async (t) => {
    const service = await openOne()
    const { database } = service
    const job = auditLogJob({ ...service.audit, database })
    const { stop } = startJobs([job], pino({ level: 'silent' }))
    t.after(stop)
    await call(service, ['POST', '//keys/cvk/rotate', asAdmin], 202)
    const isSigned = async () => {
      const entry = (await listEntries(database)).find(({ act }) => act === 'key.rotation_begun')
      const text = 'select from audit_checkpoint where size > $1'
      return entry !== undefined && (await sql(database, text, [entry.index])).length > 0
    }
    while (!(await isSigned())) await new Promise((resolve) => setTimeout(resolve, 20))
  })

  suite('while the log stands still', {
    skip: name === 'PGlite' && 'PGlite has one connection',
  }, () => {
    test('every act is done, and is entered when it goes on', { timeout: 240_000 }, async () => {
      const { services, database } = opened
      const [service] = services
      await doOfEverything(service)
      await enterAll(database)
      const release = Promise.withResolvers<void>()
      const isHeld = Promise.withResolvers<void>()
      const standing = database.transaction(async (connection) => {
        await sql(connection, 'select from audit_log for update')
        isHeld.resolve()
        await release.promise
      })
      await isHeld.promise
      try {
        await doOfEverything(service)
        while ((await publishBatch(database)) > 0);
        const enter = createSequencer({ database, origin })
        await assert.rejects(enter(), { code: 'unavailable' })
      } finally {
        release.resolve()
      }
      await standing
      await enterAll(database)
      assert.ok((await holdsAll(database)).length > 40)
    })
  })
})
