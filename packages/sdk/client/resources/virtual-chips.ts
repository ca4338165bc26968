import type { ChipTransaction, ChipTransactionAnswer, MakeVirtualChip } from '../models.ts'
import type { Calls, ChangeOptions, Result } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

/** The chip that a sandbox gives to a card. */
export type VirtualChip = Result<'readVirtualChip'>
/** Chip data with a cryptogram, and the chip's own decision. */
export type StartedChipTransaction = Result<'startChipTransaction'>
/** Whether the chip accepted the answer, and the results of the commands in it. */
export type AnsweredChipTransaction = Result<'answerVirtualChip'>

/** Virtual chips of a sandbox. */
export interface VirtualChips {
  /** Makes the chip of a card, or another one in its place. Scope `simulator.write`. */
  make(publicToken: string, chip?: MakeVirtualChip, options?: ChangeOptions): Promise<VirtualChip>
  /** Scope `simulator.write`. */
  retrieve(publicToken: string, options?: CallOptions): Promise<VirtualChip>
  /** Makes a cryptogram, which a card network can send. Scope `simulator.write`. */
  startTransaction(
    publicToken: string,
    transaction: ChipTransaction,
    options?: ChangeOptions,
  ): Promise<StartedChipTransaction>
  /** Gives the issuer's answer to the chip. Scope `simulator.write`. */
  answer(
    publicToken: string,
    answer: ChipTransactionAnswer,
    options?: ChangeOptions,
  ): Promise<AnsweredChipTransaction>
}

export const virtualChips = ({ get, post }: Calls): VirtualChips => ({
  make: (publicToken, chip = {}, options) =>
    post<'makeVirtualChip'>(path`/simulator/cards/${publicToken}/chip`, chip, options),
  retrieve: (publicToken, options) =>
    get<'readVirtualChip'>(path`/simulator/cards/${publicToken}/chip`, options),
  startTransaction(publicToken, transaction, options) {
    const address = path`/simulator/cards/${publicToken}/chip/transactions`
    return post<'startChipTransaction'>(address, transaction, options)
  },
  answer(publicToken, answer, options) {
    const address = path`/simulator/cards/${publicToken}/chip/answers`
    return post<'answerVirtualChip'>(address, answer, options)
  },
})
