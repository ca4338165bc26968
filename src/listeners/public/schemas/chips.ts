import Type from 'typebox'
import { putDataMost, requestedChipCommands } from '../../../domain/chip-command.ts'
import * as members from '../../http/chip-members.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

export const { CardChipSchema } = members

export const QueueChipCommandSchema = Type.Object(
  {
    command: Type.Enum([...requestedChipCommands], { examples: ['block_application'] }),
    tag: Type.Optional(
      Type.String({
        pattern: stringPatterns.chipTag,
        description: 'With `put_data`: the tag, of two bytes.',
        examples: ['9F58'],
      }),
    ),
    panSequenceNumber: Type.Optional(
      Type.String({
        pattern: stringPatterns.panSequenceNumber,
        description:
          'The chip, by its PAN sequence number. By default, the highest one that was seen. ' +
          '`block_card` needs it, unless exactly one chip was seen.',
        examples: ['00'],
      }),
    ),
    value: Type.Optional(
      Type.String({
        minLength: 2,
        maxLength: 2 * putDataMost,
        pattern: stringPatterns.hexadecimal,
        description:
          'With `put_data`: the value, which must be no secret and contain no card number.',
        examples: ['03'],
      }),
    ),
  },
  closed,
)

export const QueuedChipCommandSchema = Type.Object({
  commandNumber: members.commandNumber,
  command: Type.Enum([...requestedChipCommands]),
  state: Type.Enum(['pending']),
})
