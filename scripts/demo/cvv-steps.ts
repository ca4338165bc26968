import { readTryStatus } from './pin-steps.ts'
import { recall, type Scenario, type Step } from './step.ts'

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

/** Gives back the CVV tries of the card. */
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
