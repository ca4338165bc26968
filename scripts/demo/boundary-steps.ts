import assert from 'node:assert/strict'
import { createCard, setPin } from './issuing-steps.ts'
import { readPin } from './pin-steps.ts'
import { recall, type Scenario } from './step.ts'

const sixDigits = '482170'

export const boundaryScenario: Scenario = {
  title: 'Meet the rules',
  steps: [
    {
      title: "Ask for another client's card",
      note: 'It is answered exactly like a card that does not exist.',
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
      note: 'A PVV proves a PIN, but nobody can tell the PIN from it.',
      status: 409,
      problem: 'pin_not_revealable',
      check: () => {},
    },
  ],
}
