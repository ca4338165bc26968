import type { Act, Screen } from './screen.ts'
import { approvalScreen } from './screens/approval.ts'
import { approvalActs } from './screens/approval-decisions.ts'
import { approvalsScreen } from './screens/approvals.ts'
import { auditLogScreen, succeedLogAct } from './screens/audit-log.ts'
import { authorizationScreen } from './screens/authorization.ts'
import { authorizationsScreen } from './screens/authorizations.ts'
import { cardActs, cardScreen } from './screens/card.ts'
import { clientScreen, clientsScreen, grantProductAct, switchClientAct } from './screens/clients.ts'
import { decisionEndpointsScreen } from './screens/decision-endpoints.ts'
import { disclosuresScreen } from './screens/disclosures.ts'
import { homeScreen } from './screens/home.ts'
import { keysScreen, retireKeyAct, rotateKeyAct } from './screens/keys.ts'
import { limitsScreen } from './screens/limits.ts'
import { linkScreen, networksScreen, switchLinkAct } from './screens/networks.ts'
import { cardPaymentsScreen, paymentScreen } from './screens/payments.ts'
import { operatorsScreen, personScreen, signPersonOutAct } from './screens/people.ts'
import { productsScreen, switchProductAct } from './screens/products.ts'
import { receiptScreen } from './screens/receipt.ts'
import { authorizeAct, moveClockAct, sandboxScreen } from './screens/sandbox.ts'
import { searchAct, searchScreen } from './screens/search.ts'
import { unblockCardsAct, unblockCardsScreen } from './screens/unblock-cards.ts'
import { webhookActs, webhookScreen, webhooksScreen } from './screens/webhooks.ts'

/** Every screen but the first, in the groups and the order of the navigation. */
const groups: Readonly<Record<string, readonly Screen[]>> = {
  Cards: [
    searchScreen,
    authorizationsScreen,
    cardScreen,
    authorizationScreen,
    cardPaymentsScreen,
    paymentScreen,
    unblockCardsScreen,
    disclosuresScreen,
    receiptScreen,
  ],
  Clients: [
    clientsScreen,
    clientScreen,
    decisionEndpointsScreen,
    productsScreen,
    webhooksScreen,
    webhookScreen,
    limitsScreen,
  ],
  Operation: [
    approvalsScreen,
    approvalScreen,
    networksScreen,
    linkScreen,
    keysScreen,
    auditLogScreen,
    operatorsScreen,
    personScreen,
  ],
}

const everywhere: readonly Screen[] = [
  homeScreen,
  ...Object.entries(groups).flatMap(([group, screens]) =>
    screens.map((screen) => ({ ...screen, group })),
  ),
]

/** The screens of an installation: a sandbox has one more. */
export const listScreens = (isSandbox: boolean): readonly Screen[] =>
  isSandbox ? [...everywhere, { ...sandboxScreen, group: 'Operation' }] : everywhere

/** Every act of a form. */
export const acts: readonly Act[] = [
  searchAct,
  ...cardActs,
  unblockCardsAct,
  ...webhookActs,
  ...approvalActs,
  switchProductAct,
  switchClientAct,
  grantProductAct,
  switchLinkAct,
  rotateKeyAct,
  retireKeyAct,
  succeedLogAct,
  signPersonOutAct,
  moveClockAct,
  authorizeAct,
]
