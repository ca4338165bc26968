import { before, suite } from 'node:test'
import { cardNumberGuarantees } from './contract/card-numbers.ts'
import { keyGuarantees } from './contract/keys.ts'
import { pairGuarantees } from './contract/pairs.ts'
import { pinGuarantees } from './contract/pins.ts'
import { recordGuarantees } from './contract/records.ts'
import { verificationGuarantees } from './contract/verification.ts'
import type { Implementation } from './implementation.ts'

/** What holds of every implementation of the HSM contract. */
export function hsmContract(
  name: string,
  open: () => Promise<Implementation>,
  skip: string | false = false,
): void {
  suite(`the HSM contract on ${name}`, { skip }, () => {
    let implementation: Implementation | undefined
    before(async () => {
      implementation = await open()
    })
    const subject = () => {
      if (!implementation) throw new Error('It is not open.')
      return implementation
    }
    cardNumberGuarantees(subject)
    pinGuarantees(subject)
    verificationGuarantees(subject)
    recordGuarantees(subject)
    keyGuarantees(subject)
    pairGuarantees(subject)
  })
}
