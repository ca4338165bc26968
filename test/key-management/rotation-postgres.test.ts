import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openPostgres } from '../support/postgres.ts'
import { newCard, sql } from '../support/service.ts'
import { openLoad, requestsMin } from './mixed-load.ts'
import { countUnder, panReader, rotateAll, untilMoved } from './rotating.ts'
import { administerOf, openInstallation, sendToAny } from './two-programs.ts'

const postgres = await openPostgres()

suite('keys rotate on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('under load on two programs at once, none of whose requests fails', async (t) => {
    const { database, dataDir, start } = await openInstallation(postgres, 100)
    const programs = [await start(), await start()]
    const [first] = programs
    assert.ok(first)
    const load = await openLoad({
      send: sendToAny(programs),
      panOf: await panReader(database, dataDir),
      zoneKey: Buffer.from(first.sandbox.network.zoneKeys[0]?.value ?? '', 'hex'),
      workers: 8,
      cardsEach: 10,
    })
    let isMoved = false
    const loading = load.run(() => isMoved, requestsMin)
    const administer = administerOf(first)
    const rotating = rotateAll(administer, dataDir)
      .then(() => untilMoved(administer, 2, 60_000))
      .finally(() => {
        isMoved = true
      })
    const [figures] = await Promise.all([loading, rotating])
    t.diagnostic(JSON.stringify(figures))
    assert.ok((await load.check()) >= 80)
    assert.deepEqual(await countUnder(database, 1), [0, 0, 0, 0, 0, 0])
    for (const program of programs) assert.equal(program.stderr(), '')
  })

  test('and a pass whose process is killed is taken up by another where it stopped', async () => {
    const { database, dataDir, start } = await openInstallation(postgres, 100)
    const first = await start()
    const send = sendToAny([first])
    const panOf = await panReader(database, dataDir)
    const cards: { publicToken: string; pin: string; pan: string }[] = []
    const create = async () => {
      const { json, status, text } = await send('client', 'POST', '/cards', newCard())
      assert.equal(status, 201, text)
      const told = await send('client', 'GET', `/card-pin/${json.publicToken}/pin`)
      const pan = await panOf(json.publicToken)
      cards.push({ publicToken: json.publicToken, pin: told.json.pin, pan })
    }
    while (cards.length < 600) await Promise.all(Array.from({ length: 10 }, create))

    await rotateAll(administerOf(first), dataDir)
    const walked = await untilWalking(database)
    await first.kill('SIGKILL')
    const [left] = await countUnder(database, 1)
    assert.ok(walked > 0 && left !== undefined && left > 0, `${walked} walked, ${left} left`)

    const second = await start()
    await untilMoved(administerOf(second), 2, 60_000)
    assert.deepEqual(await countUnder(database, 1), [0, 0, 0, 0, 0, 0])
    const again = sendToAny([second])
    for (const { pan, pin, publicToken } of cards) {
      const told = await again('client', 'GET', `/card-pin/${publicToken}/pin`)
      assert.equal(told.json.pin, pin)
      assert.equal(await panOf(publicToken), pan)
    }
  })
})

/** Resolves in the middle of the first pass. */
async function untilWalking(database: Parameters<typeof sql>[0]): Promise<number> {
  for (;;) {
    const [pass] = await sql<{ walked: number }>(
      database,
      `select walked::int from key_pass where finished_at is null and walked > 0 and round = 1`,
    )
    if (pass) return pass.walked
    await wait(5)
  }
}
