import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { revealFreeTexts } from '../../../src/operations/cards/free-texts.ts'
import { keyJobs, startJobs } from '../../../src/service/background.ts'
import { createLog } from '../../../src/service/log.ts'
import { isNightly } from '../../support/cases.ts'
import { openPostgres } from '../../support/postgres.ts'
import { newCard, openTestService, sql } from '../../support/service.ts'
import { openLoad, requestsMin } from './mixed-load.ts'
import {
  administerOf,
  countUnder,
  openInstallation,
  panReader,
  rotateAll,
  sendToAny,
  subjectOf,
  untilReEncrypted,
} from './rotating.ts'

const postgres = await openPostgres()

/**
 * Several steps of a pass, each of as many rows as a second may have: it is killed after the first.
 */
const stepOfRows = isNightly ? 100 : 40
const cardsUnderWay = isNightly ? 600 : 160

const workers = 8
const cardsEach = isNightly ? 10 : 5

test('every key rotates under load: no request fails, and every card is readable', async (t) => {
  const env = { KEY_REFRESH_MS: '100', RATE_LIMIT: 'off' }
  const service = await openTestService({ env })
  const keeping = startJobs(keyJobs(service.keys), createLog('silent'))
  t.after(() => keeping.stop())
  const { administer, send, zoneKey } = subjectOf(service)
  const readPan = await panReader(service.database, service.dataDir)
  const load = await openLoad({ send, readPan, zoneKey, workers, cardsEach })

  const url = 'http://127.0.0.1:9/hook'
  const hook = { url, events: ['pin.blocked'], description: 'To nobody.' }
  const webhook = (await service.call('POST', '/webhooks', { body: hook })).json
  assert.equal((await countUnder(service.database, 1)).at(-1), 1)
  const renewed = await service.createCard({ cardType: 'Physical', activateNow: true })
  const reprint = { renewStep: 'RenewWithSameExpiry', freetext1: 'To the porter' }
  await service.call('POST', `/cards/${renewed.publicToken}/renew`, { body: reprint })

  let isMoved = false
  const loading = load.run(() => isMoved, requestsMin)
  const rotating = rotateAll(administer, service.dataDir)
    .then(() => untilReEncrypted(administer, 2, 60_000))
    .finally(() => {
      isMoved = true
    })
  const [figures] = await Promise.all([loading, rotating])

  t.diagnostic(JSON.stringify(figures))
  assert.ok(figures.requests >= requestsMin)
  assert.ok((await load.check()) >= workers * cardsEach)
  assert.deepEqual(await countUnder(service.database, 1), [0, 0, 0, 0, 0, 0])
  const told = await service.call('GET', `/webhooks/${webhook.webhookId}`)
  assert.equal(told.json.description, 'To nobody.')
  const [plastic] = await sql<{ version: number; freeTexts: Uint8Array }>(
    service.database,
    `select get_byte(free_texts, 1) * 256 + get_byte(free_texts, 2) as version,
       free_texts as "freeTexts"
     from plastic where public_token = $1 and plastic_number = 1`,
    [renewed.publicToken],
  )
  assert.ok(plastic)
  assert.equal(plastic.version, 2)
  const { hsm } = service.issuing
  const texts = await revealFreeTexts(hsm, renewed.publicToken, 1, plastic.freeTexts)
  assert.equal(texts.freetext1, 'To the porter')
  const [pans] = await sql<{ cards: number; pans: number }>(
    service.database,
    `select (select count(*)::int from card) as cards,
       (select count(*)::int from pan_fingerprint where key_version = 2) as pans`,
  )
  assert.equal(pans?.pans, pans?.cards)
})

suite('keys rotate on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('under load on two programs at once, none of whose requests fails', async (t) => {
    const { database, dataDir, start } = await openInstallation(postgres, 100)
    const programs = [await start(), await start()]
    const [first] = programs
    assert.ok(first)
    const load = await openLoad({
      send: sendToAny(programs),
      readPan: await panReader(database, dataDir),
      zoneKey: Buffer.from(first.sandbox.network.zoneKeys[0]?.value ?? '', 'hex'),
      workers,
      cardsEach,
    })
    let isMoved = false
    const loading = load.run(() => isMoved, requestsMin)
    const administer = administerOf(first)
    const rotating = rotateAll(administer, dataDir)
      .then(() => untilReEncrypted(administer, 2, 60_000))
      .finally(() => {
        isMoved = true
      })
    const [figures] = await Promise.all([loading, rotating])
    t.diagnostic(JSON.stringify(figures))
    assert.ok((await load.check()) >= workers * cardsEach)
    assert.deepEqual(await countUnder(database, 1), [0, 0, 0, 0, 0, 0])
    for (const program of programs) assert.equal(program.stderr(), '')
  })

  test('and a pass whose process is killed is taken up by another where it stopped', async () => {
    const { database, dataDir, start } = await openInstallation(postgres, 100)
    const first = await start({ REENCRYPTION_ROWS_PER_SECOND: String(stepOfRows) })
    const send = sendToAny([first])
    const readPan = await panReader(database, dataDir)
    const cards: { publicToken: string; pin: string; pan: string }[] = []
    const create = async () => {
      const { json, status, text } = await send('client', 'POST', '/cards', newCard())
      assert.equal(status, 201, text)
      const told = await send('client', 'GET', `/card-pin/${json.publicToken}/pin`)
      const pan = await readPan(json.publicToken)
      cards.push({ publicToken: json.publicToken, pin: told.json.pin, pan })
    }
    while (cards.length < cardsUnderWay) await Promise.all(Array.from({ length: 10 }, create))

    await rotateAll(administerOf(first), dataDir)
    const reEncrypted = await untilReEncrypting(database)
    await first.kill('SIGKILL')
    const [left] = await countUnder(database, 1)
    assert.ok(
      reEncrypted > 0 && left !== undefined && left > 0,
      `${reEncrypted} walked, ${left} left`,
    )

    const second = await start()
    await untilReEncrypted(administerOf(second), 2, 60_000)
    assert.deepEqual(await countUnder(database, 1), [0, 0, 0, 0, 0, 0])
    const again = sendToAny([second])
    for (const { pan, pin, publicToken } of cards) {
      const told = await again('client', 'GET', `/card-pin/${publicToken}/pin`)
      assert.equal(told.json.pin, pin)
      assert.equal(await readPan(publicToken), pan)
    }
  })
})

/** Resolves in the middle of the first pass. */
async function untilReEncrypting(database: Parameters<typeof sql>[0]): Promise<number> {
  for (;;) {
    const [pass] = await sql<{ walked: number }>(
      database,
      `select examined::int as walked from re_encryption where finished_at is null and examined > 0 and round = 1`,
    )
    if (pass) return pass.walked
    await wait(5)
  }
}
