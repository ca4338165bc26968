import type {
  BackTestCardControls,
  CardControls,
  ControlsBackTest,
  ControlsExplanation,
  ControlsVersion,
  ExplainControls,
  ReplaceCardControls,
} from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

export interface Controls {
  /** The spending controls of a card. Scope `cards.read`. */
  retrieve(publicToken: string, options?: CallOptions): Promise<CardControls>
  /**
   * Replaces them whole, and returns the new version. `version` is the one that is replaced: 0
   * before the first. Scope `cards.write`.
   */
  replace(
    publicToken: string,
    controls: ReplaceCardControls,
    options?: ChangeOptions,
  ): Promise<ControlsVersion>
  /** Every objection of the controls to a transaction. Nothing is spent. Scope `cards.read`. */
  explain(
    publicToken: string,
    transaction: ExplainControls,
    options?: CallOptions,
  ): Promise<ControlsExplanation>
  /**
   * The recorded authorizations of a period that a draft of controls would decide otherwise.
   * Nothing is changed. Takes up to some seconds. Scope `cards.read`.
   */
  backTest(
    publicToken: string,
    draft: BackTestCardControls,
    options?: CallOptions,
  ): Promise<ControlsBackTest>
}

export const controls = ({ get, post, put }: Calls): Controls => ({
  retrieve: (publicToken, options) =>
    get<'getCardControls'>(path`/cards/${publicToken}/controls`, options),
  replace: (publicToken, changed, options) =>
    put<'replaceCardControls'>(path`/cards/${publicToken}/controls`, changed, options),
  explain: (publicToken, transaction, options) =>
    post<'explainControls'>(path`/cards/${publicToken}/controls/explain`, transaction, options),
  backTest: (publicToken, draft, options) =>
    post<'backTestCardControls'>(path`/cards/${publicToken}/controls/back-test`, draft, options),
})
