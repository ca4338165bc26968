import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Connection } from '../../../src/storage/engine/database.ts'
import { makePinBlock } from '../../reference/pin-blocks.ts'
import { type NamedBlock, otherDigits } from '../../support/network.ts'
import type { Program } from '../../support/process.ts'
import { sql } from '../../support/service.ts'

/** A burst of questions at programs of which one is killed in the middle, and what came of it. */

/** A program and the demo network's token for it. */
export type Victim = { program: Program; token: string }

export type Answered = { status: number; replayed: boolean; text: string; responseCode: string }

export type Asked = {
  key: string
  reference: string
  question: object
  /** Null where the connection ended without an answer. */
  answer: Answered | null
}

export const withToken = async (program: Program): Promise<Victim> => {
  const { clientId, clientSecret } = program.sandbox.network
  const response = await fetch(`${program.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return { program, token }
}

/** A block that is bound to no PAN, so that the PIN is all that one must know. */
const blockOf = ({ sandbox }: Program, pin: string): NamedBlock => {
  const value = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')?.value ?? ''
  const key = Buffer.from(value, 'hex')
  const bytes = makePinBlock(pin, { format: 1, pan: '', key })
  return { format: 'ISO_FORMAT_1', key: 'zone-a', data: bytes.toString('hex') }
}

/** Wrong PINs with a right one here and there, each under a key of its own. */
export const planBurst = (
  { program }: Victim,
  { pin, publicToken }: { pin: string; publicToken: string },
  count: number,
): Asked[] =>
  Array.from({ length: count }, (_, index) => {
    const key = randomUUID()
    const reference = `R-${key.replace(/[0-9]/g, 'x').slice(0, 30)}-${index}`.slice(0, 35)
    const tried = index % 5 === 4 ? pin : otherDigits(pin)
    const question = {
      publicToken,
      entryMode: 'chip',
      reference,
      pinBlock: blockOf(program, tried),
    }
    return { key, reference, question, answer: null }
  })

/** Sends one question. @returns null where the program ended before it answered. */
export const send = async ({ program, token }: Victim, asked: Asked): Promise<Answered | null> => {
  try {
    const response = await fetch(`${program.privateUrl}/network/authorizations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': asked.key,
      },
      body: JSON.stringify(asked.question),
    })
    const text = await response.text()
    const replayed = response.headers.get('idempotency-replayed') === 'true'
    const { code, responseCode } = JSON.parse(text)
    return { status: response.status, replayed, text, responseCode: responseCode ?? code }
  } catch {
    return null
  }
}

/** Sends all at once, in turn to each, and kills the last one when so many have been answered. */
export const burstAndKill = async (
  victims: readonly Victim[],
  plan: readonly Asked[],
  killAfter: number,
): Promise<Asked[]> => {
  let answered = 0
  const killed = Promise.withResolvers<unknown>()
  const asked = plan.map(async (each, index) => {
    const victim = victims[index % victims.length]
    const answer = victim ? await send(victim, each) : null
    answered += 1
    if (answered === killAfter) killed.resolve(victims.at(-1)?.program.kill('SIGKILL'))
    return { ...each, answer }
  })
  const all = await Promise.all(asked)
  await killed.promise
  return all
}

/** Makes everything that a lost process left look 31 seconds older. */
export const ageWhatWasLost = async (database: Connection): Promise<void> => {
  const older = "- interval '31 seconds'"
  await sql(
    database,
    `update idempotency_record set created_at = created_at ${older} where answer is null`,
  )
  await sql(
    database,
    `update try_counter set open_since = array(
       select case since when 0 then 0 else least(since, $1::bigint) - 31000000 end
       from unnest(open_since) with ordinality as each (since, place) order by place
     ) where cardinality(open_since) > 0`,
    [Date.now() * 1_000],
  )
}

/** Fails unless a repeat told what the first told, or that the first was lost, or was the first. */
export const assertRepeated = (first: Asked, repeat: Answered | null): void => {
  assert.ok(repeat, 'the program that lives answers')
  assert.equal(repeat.status, 200, repeat.text)
  if (first.answer?.status !== 200) return
  assert.equal(repeat.replayed, true)
  assert.equal(repeat.text, first.answer.text)
}
