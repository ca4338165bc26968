import { boundaryScenario } from './boundary-steps.ts'
import { cvvScenario } from './cvv-steps.ts'
import { issuingScenario } from './issuing-steps.ts'
import { pinScenario } from './pin-steps.ts'
import type { Scenario } from './step.ts'
import { triesScenario } from './tries-steps.ts'

/** The journey, in order: later scenarios use the card of the first. */
export const scenarios: readonly Scenario[] = [
  issuingScenario,
  pinScenario,
  cvvScenario,
  triesScenario,
  boundaryScenario,
]
