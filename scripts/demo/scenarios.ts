import assert from 'node:assert/strict'
import {
  createCard,
  cvvScenario,
  issuingScenario,
  type Journey,
  pinScenario,
  readPin,
  readTryStatus,
  recall,
  type Scenario,
  type Step,
  setPin,
  unblockCvv,
  unblockPin,
} from './steps.ts'

/** The expected answer of the simulator for the tried kind. */
interface Due {
  readonly responseCode: string
  readonly result: string
  readonly remainingTries: number
}

/** Has the simulator try a PIN or CVV on the card, through the interface of card networks. */
const simulate = (
  title: string,
  kind: 'pin' | 'cvv',
  selectSecret: (journey: Journey) => string,
  { remainingTries, responseCode, result }: Due,
): Step => ({
  title,
  call: (journey) => ({
    as: 'client',
    method: 'POST',
    path: `${journey.base}/simulator/authorizations`,
    body: { publicToken: recall(journey, 'card'), [kind]: selectSecret(journey) },
  }),
  status: 200,
  check: ({ body }) => {
    const answer = body as Record<string, unknown>
    assert.equal(answer.responseCode, responseCode)
    assert.deepEqual(answer[kind], { result, remainingTries })
  },
})

const wrongPin = ({ memory }: Journey): string => (memory.get('pin') === '7305' ? '7306' : '7305')
const rightPin = (journey: Journey): string => recall(journey, 'pin')

const tryWrongPin = (remainingTries: number): Step =>
  simulate('Buy something with a wrong PIN', 'pin', wrongPin, {
    responseCode: '55',
    result: 'mismatch',
    remainingTries,
  })

const triesScenario: Scenario = {
  title: 'Use up the tries',
  steps: [
    tryWrongPin(2),
    tryWrongPin(1),
    tryWrongPin(0),
    readTryStatus('pin', 'card', 'Blocked', 0),
    {
      ...simulate('Buy something with the right PIN, too late', 'pin', rightPin, {
        responseCode: '75',
        result: 'blocked',
        remainingTries: 0,
      }),
      note: 'A blocked PIN is never compared.',
    },
    unblockPin('card'),
    readTryStatus('pin', 'card', 'Unblocked', 3),
    simulate('Buy something with the right PIN', 'pin', rightPin, {
      responseCode: '00',
      result: 'match',
      remainingTries: 3,
    }),
    ...[2, 1, 0].map((remainingTries) =>
      simulate('Shop online with a CVV that cannot be right', 'cvv', () => '0000', {
        responseCode: 'N7',
        result: 'mismatch',
        remainingTries,
      }),
    ),
    readTryStatus('cvv', 'card', 'Blocked', 0),
    unblockCvv,
    readTryStatus('cvv', 'card', 'Unblocked', 3),
    {
      title: "Read the card's attempts",
      note: 'Newest first, without the values that were tried.',
      call: (journey) => ({
        as: 'client',
        method: 'GET',
        path: `${journey.base}/cards/${recall(journey, 'card')}/attempts?limit=3`,
      }),
      status: 200,
      check: ({ body }) => assert.equal((body as readonly unknown[]).length, 3),
    },
  ],
}

const sixDigits = '482170'

const boundaryScenario: Scenario = {
  title: 'Meet the rules',
  steps: [
    {
      title: "Ask for another client's card",
      note: 'The answer equals that for a card that does not exist.',
      call: (journey) => ({
        as: 'otherClient',
        method: 'GET',
        path: `${journey.base}/card-pin/${recall(journey, 'card')}/pin/status`,
      }),
      status: 404,
      problem: 'card_not_found',
    },
    createCard('Create a card of a product with six-digit PINs', 1003, 'travel'),
    {
      ...setPin('Try to set four digits', 'travel', () => '4821'),
      status: 422,
      problem: 'validation_failed',
      check: ({ body }) => {
        const { errors } = body as { errors: readonly { pointer: string }[] }
        assert.equal(errors[0]?.pointer, '/pin')
      },
    },
    setPin('Set six digits', 'travel', ({ memory }) => {
      memory.set('travel pin', sixDigits)
      return sixDigits
    }),
    readPin('travel', 'travel pin'),
    createCard('Create a card whose PIN is kept as a PVV only', 1002, 'sealed'),
    {
      ...readPin('sealed', 'pin'),
      title: 'Try to read its PIN',
      note: 'A PVV verifies a PIN, but the PIN cannot be computed from it.',
      status: 409,
      problem: 'pin_not_revealable',
      check: () => {},
    },
  ],
}

/** The scenarios in order: later ones use the card of the first. */
export const scenarios: readonly Scenario[] = [
  issuingScenario,
  pinScenario,
  cvvScenario,
  triesScenario,
  boundaryScenario,
]
