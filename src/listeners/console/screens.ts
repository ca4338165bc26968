import type { Act, Screen } from './screen.ts'
import { approvalActs, approvalScreen, approvalsScreen } from './screens/approvals.ts'
import { authorizationScreen } from './screens/authorization.ts'
import { cardActs, cardScreen } from './screens/card.ts'
import { homeScreen } from './screens/home.ts'
import { searchAct, searchScreen } from './screens/search.ts'
import { unblockCardsAct, unblockCardsScreen } from './screens/unblock-cards.ts'

/** Every screen, in the order of the navigation. */
export const screens: readonly Screen[] = [
  homeScreen,
  searchScreen,
  cardScreen,
  authorizationScreen,
  unblockCardsScreen,
  approvalsScreen,
  approvalScreen,
]

/** Every act of a form. */
export const acts: readonly Act[] = [searchAct, ...cardActs, unblockCardsAct, ...approvalActs]
