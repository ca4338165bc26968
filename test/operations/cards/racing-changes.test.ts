import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { ask, issueCard, pinTry } from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestDatabase,
  openTestService,
  pool,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()

const env = { UNBLOCKS_PER_CARD_DAY: '1000000', RATE_LIMIT: 'off' }

/** One service, or two on one database, as two processes would be. */
const engines = [
  {
    name: 'PGlite',
    skip: false,
    open: async () => [await openTestService({ database: await openTestDatabase(), env })],
  },
  {
    name: 'PostgreSQL',
    skip: postgres.leftOut,
    open: async () => {
      const { database, url } = await openServerDatabase(postgres)
      const first = await openTestService({ database, env })
      const { dataDir } = first
      return [first, await openTestService({ database: pool(url, 10), dataDir, env })]
    },
  },
] as const

/** Changes of a card that are always allowed, each with the type of its event. */
const changesOf = (token: string, pin: string) =>
  [
    { method: 'POST', path: `/card-pin/${token}/pin`, body: { pin }, type: 'pin.set' },
    { method: 'POST', path: `/card-pin/${token}/pin/unblock`, type: 'pin.unblocked' },
    {
      method: 'PUT',
      path: `/card-cvv/${token}/cvv/status`,
      body: { status: 'Unblocked' },
      type: 'cvv.unblocked',
    },
  ] as const

async function setPin(service: TestService, publicToken: string, pin: string): Promise<void> {
  const [{ body, method, path }] = changesOf(publicToken, pin)
  const { status, text } = await service.call(method, path, { body })
  assert.equal(status, 204, text)
}

const eventsOf = (service: TestService, publicToken: string) =>
  sql<{ sequence: number; type: string }>(
    service.database,
    'select sequence, type from event where public_token = $1 order by sequence',
    [publicToken],
  )

for (const { name, open, skip } of engines) {
  suite(`changes of one card at once, on ${name}`, { skip }, () => {
    test('none is lost, no sequence is skipped, and each is answered', async () => {
      const services: readonly TestService[] = await open()
      const [first] = services
      if (!first) throw new Error('There is no service.')
      const made = await first.createCard()
      const { publicToken } = made
      const [pin] = strongPins(made)
      // On a cluster each keeps the card locked for both phases of its commit.
      const rounds = first.database.isCluster() ? 5 : 20
      const changes = Array.from({ length: rounds }, () => changesOf(publicToken, pin)).flat()
      const answers = await Promise.all(
        changes.map(({ method, path, ...rest }, at) =>
          (services[at % services.length] ?? first).call(method, path, {
            ...('body' in rest && { body: rest.body }),
            ...(at % 2 === 0 && { headers: { 'idempotency-key': randomUUID() } }),
          }),
        ),
      )
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [204])
      const events = await eventsOf(first, publicToken)
      assert.deepEqual(
        events.map(({ sequence }) => sequence),
        events.map((_, at) => at + 1),
      )
      const due = ['card.created', ...changes.map(({ type }) => type)]
      assert.deepEqual(events.map(({ type }) => type).sort(), due.sort())
    })

    test('wrong PINs without end do not keep a cardholder’s PIN change from passing', async () => {
      const services: readonly TestService[] = await open()
      const [first] = services
      if (!first) throw new Error('There is no service.')
      const card = await issueCard(first)
      const [pin] = strongPins({ maskedPan: card.pan })
      const [, unblock] = changesOf(card.publicToken, pin)
      let isOver = false
      let guesses = 0
      const guess = async () => {
        for (; !isOver; guesses += 1) {
          await ask(first, pinTry(first, card, '0000'))
          // So that the next ones have tries to spend, too.
          if (guesses % 3 === 0) await first.call(unblock.method, unblock.path)
        }
      }
      const guessing = Array.from({ length: 4 }, guess)
      for (let times = 0; times < 20 || guesses < 20; times += 1) {
        await setPin(first, card.publicToken, pin)
      }
      isOver = true
      await Promise.all(guessing)
    })
  })
}
