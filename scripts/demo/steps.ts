import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isPublicToken } from '../../src/domain/identifiers.ts'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'

/** The caller: the members of `sandbox.json` with credentials. */
export type Actor = 'client' | 'otherClient' | 'network' | 'admin'

/**
 * One request. Card networks and administrators call the private listener, all others the public
 * one.
 */
export interface Call {
  readonly as: Actor
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The parsed JSON, or null for an empty body. */
  readonly body: unknown
}

/** The shared state of the steps of one run. */
export interface Journey {
  readonly sandbox: SandboxFile
  /** The prefix of the specification's paths: `/thr/processor`. */
  readonly base: string
  /** Values by names that the steps share: `card`, `pin`. */
  readonly memory: Map<string, string>
}

/** One request and its expected answer. */
export interface Step {
  readonly title: string
  /** A sentence for the viewer. */
  readonly note?: string
  readonly call: (journey: Journey) => Call
  readonly status: number
  /** The `code` of the problem document, if a refusal is expected. */
  readonly problem?: string
  /** Checks the answer further, and stores values for later steps. Throws on a fault. */
  readonly check?: (answer: Answer, journey: Journey) => void
}

/** Related steps. To add a scenario, list it in scenarios.ts. */
export interface Scenario {
  readonly title: string
  readonly steps: readonly Step[]
}

/** Returns a value that an earlier step stored. */
export function recall({ memory }: Journey, name: string): string {
  const value = memory.get(name)
  if (value === undefined) throw new Error(`No step before this one remembered “${name}”.`)
  return value
}

const cardHolder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' }
const address = {
  addressLine1: 'Calle Mayor 1',
  city: 'Madrid',
  postCode: '28013',
  country: 'ESP',
}

/** Creates a card and stores its token under a name. */
export const createCard = (title: string, cardProduct: number, name: string): Step => ({
  title,
  call: ({ base, memory }) => {
    // One key per intended card: a repeat sends the same one.
    const key = memory.get(`${name} key`) ?? randomUUID()
    memory.set(`${name} key`, key)
    return {
      as: 'client',
      method: 'POST',
      path: `${base}/cards`,
      headers: { 'Idempotency-Key': key },
      body: { cardType: 'Virtual', cardProduct, cardHolder, address },
    }
  },
  status: 201,
  check: (answer, journey) => rememberCard(answer, journey, name),
})

function rememberCard({ body, headers }: Answer, { base, memory }: Journey, name: string): void {
  const { maskedPan, publicToken } = body as { publicToken: string; maskedPan: string }
  assert.ok(isPublicToken(publicToken), 'publicToken must be ten digits')
  assert.equal(headers.get('location'), `${base}/cards/${publicToken}`)
  assert.equal(memory.get(name) ?? publicToken, publicToken, 'a repeat must answer the same card')
  memory.set(name, publicToken)
  memory.set(`${name} maskedPan`, maskedPan)
}

/** Sets the PIN of a stored card. */
export const setPin = (title: string, name: string, pin: (journey: Journey) => string): Step => ({
  title,
  call: (journey) => ({
    as: 'client',
    method: 'POST',
    path: `${journey.base}/card-pin/${recall(journey, name)}/pin`,
    body: { pin: pin(journey) },
  }),
  status: 204,
})

/** Returns a PIN that is not weak, even if the card's last digits equal the first choice. */
function chosenPin(journey: Journey): string {
  const pin = recall(journey, 'card maskedPan').endsWith('4821') ? '7350' : '4821'
  journey.memory.set('pin', pin)
  return pin
}

const createMainCard = createCard('Create a card', 1001, 'card')

export const issuingScenario: Scenario = {
  title: 'Issue a card',
  steps: [
    {
      title: 'List the products',
      call: ({ base }) => ({ as: 'client', method: 'GET', path: `${base}/products` }),
      status: 200,
      check: ({ body }) => {
        const products = body as readonly { productId: number }[]
        const ids = new Set(products.map(({ productId }) => productId))
        const lacking = [1001, 1002, 1003].filter((id) => !ids.has(id))
        assert.deepEqual(lacking, [], 'the demo client has the products 1001, 1002 and 1003')
      },
    },
    createMainCard,
    {
      ...createMainCard,
      title: 'Send the same request again',
      note: 'The same Idempotency-Key returns the first answer again, without a second card.',
      check: (answer, journey) => {
        assert.equal(answer.headers.get('idempotency-replayed'), 'true')
        rememberCard(answer, journey, 'card')
      },
    },
    setPin('Set the PIN that the cardholder chose', 'card', chosenPin),
  ],
}

/** Reads the PIN of a stored card and compares it with the given one. */
export const readPin = (name: string, pinName: string): Step => ({
  title: 'Read the current PIN',
  call: (journey) => ({
    as: 'client',
    method: 'GET',
    path: `${journey.base}/card-pin/${recall(journey, name)}/pin`,
  }),
  status: 200,
  check: ({ body }, journey) => assert.deepEqual(body, { pin: recall(journey, pinName) }),
})

/** Reads the PIN or CVV status of a stored card. */
export const readTryStatus = (
  kind: 'pin' | 'cvv',
  name: string,
  status: 'Blocked' | 'Unblocked',
  remainingTries: number,
): Step => ({
  title: `Read the ${kind.toUpperCase()} status`,
  call: (journey) => ({
    as: 'client',
    method: 'GET',
    path: `${journey.base}/card-${kind}/${recall(journey, name)}/${kind}/status`,
  }),
  status: 200,
  check: ({ body }) => {
    const { description, ...rest } = body as { description: string }
    assert.deepEqual(rest, { status, remainingTries })
    assert.ok(description.length > 0, 'description must say something')
  },
})

/** Restores the PIN tries of a stored card. */
export const unblockPin = (name: string): Step => ({
  title: 'Unblock the PIN',
  note: 'It restores all tries. No body is needed.',
  call: (journey) => ({
    as: 'client',
    method: 'POST',
    path: `${journey.base}/card-pin/${recall(journey, name)}/pin/unblock`,
  }),
  status: 204,
})

export const pinScenario: Scenario = {
  title: 'Look after the PIN',
  steps: [
    readPin('card', 'pin'),
    readTryStatus('pin', 'card', 'Unblocked', 3),
    unblockPin('card'),
    readTryStatus('pin', 'card', 'Unblocked', 3),
    {
      ...setPin('Try to set a weak PIN', 'card', () => '1234'),
      status: 422,
      problem: 'weak_pin',
    },
    { ...readPin('card', 'pin'), note: 'The PIN was not changed.' },
  ],
}

/** Sets the CVV status of the card. */
const changeCvv = (title: string, status: 'Blocked' | 'Unblocked'): Step => ({
  title,
  call: (journey) => ({
    as: 'client',
    method: 'PUT',
    path: `${journey.base}/card-cvv/${recall(journey, 'card')}/cvv/status`,
    body: { status, updatedBy: 'demo' },
  }),
  status: 204,
})

/** Restores the CVV tries of the card. */
export const unblockCvv = changeCvv('Unblock the CVV', 'Unblocked')

export const cvvScenario: Scenario = {
  title: 'Look after the CVV',
  steps: [
    readTryStatus('cvv', 'card', 'Unblocked', 3),
    changeCvv('Block the CVV', 'Blocked'),
    readTryStatus('cvv', 'card', 'Blocked', 0),
    unblockCvv,
    readTryStatus('cvv', 'card', 'Unblocked', 3),
  ],
}
