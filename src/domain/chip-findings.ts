/**
 * What a chip, or the data of a stripe, had to report beside the result of a check.
 *
 * `atc_jump`: the transaction counter rose by more than the product expects. Declines a stripe.
 * `chip_declined`: the chip itself declined the transaction.
 * `cryptogram_replayed`: the counter was used before, or is too old.
 * `offline_pin_failed`, `offline_pin_blocked`: of the PIN in the chip.
 * `command_failed`: the chip refused a command.
 * `data_disagreement`: chip data differ from the message, or a track from its card.
 * `data_missing`: a chip or a stripe was read, and the message does not have its data.
 * `key_unknown`: the key that the chip names does not exist.
 * `fallback`: the stripe of a card with a chip was read at a terminal with a chip reader.
 * `guessing`: the network has sent too many wrong values of the card, so none is compared.
 * `wrong_card_value`, `wrong_cavv`: recorded where the product does not decline them.
 */
export const chipFindings = [
  'atc_jump',
  'chip_declined',
  'cryptogram_replayed',
  'offline_pin_failed',
  'offline_pin_blocked',
  'command_failed',
  'data_disagreement',
  'data_missing',
  'key_unknown',
  'fallback',
  'guessing',
  'wrong_card_value',
  'wrong_cavv',
] as const

export type ChipFinding = (typeof chipFindings)[number]
