import type { CardChip, QueueChipCommand, QueuedChipCommand } from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

export interface Chips {
  /** Reads the chips of a card that were online, and the commands to them. Scope `cards.read`. */
  retrieve(publicToken: string, options?: CallOptions): Promise<CardChip>
  /**
   * Queues a command. It travels in the answer to the next online transaction of the chip. Scope
   * `cards.write`.
   */
  command(
    publicToken: string,
    command: QueueChipCommand,
    options?: ChangeOptions,
  ): Promise<QueuedChipCommand>
}

export const chips = ({ get, post }: Calls): Chips => ({
  retrieve: (publicToken, options) => get<'getCardChip'>(path`/cards/${publicToken}/chip`, options),
  command: (publicToken, command, options) =>
    post<'queueChipCommand'>(path`/cards/${publicToken}/chip/commands`, command, options),
})
