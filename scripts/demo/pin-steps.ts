import assert from 'node:assert/strict'
import { setPin } from './issuing-steps.ts'
import { recall, type Scenario, type Step } from './step.ts'

/** Reads the PIN of a remembered card, which must be the one given. */
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

/** Reads the PIN or CVV status of a remembered card. */
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

/** Gives back the PIN tries of a remembered card. */
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
    { ...readPin('card', 'pin'), note: 'The PIN is still the one before.' },
  ],
}
