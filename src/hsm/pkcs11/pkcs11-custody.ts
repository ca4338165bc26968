import type { KeyCustody } from '../key-administration.ts'
import { orProblem } from '../key-problem.ts'
import { KeyRefusal } from '../key-strength.ts'
import type { Token } from './token.ts'

/** Keys that come into a token. None leaves it, and the key that it keeps them under is its own. */
export const tokenCustody = (token: Token): KeyCustody => ({
  importKeyBlock: (purpose, zoneMasterKey, keyBlock, keyCheckValue) =>
    orProblem(() => token.ask('importKeyBlock', purpose, zoneMasterKey, keyBlock, keyCheckValue)),
  exportKeyBlock: () =>
    orProblem(() => {
      throw new KeyRefusal('A key of a token does not leave it.')
    }),
  keepComponent: (form, component, keyCheckValue) =>
    orProblem(() => token.ask('keepComponent', form, component, keyCheckValue)),
  combineComponents: (purpose, form, components, keyCheckValue) =>
    orProblem(() => token.ask('combineComponents', purpose, form, components, keyCheckValue)),
  discardKey: (keyBlock) => token.ask('destroy', keyBlock),
  masterKeys: null,
})
