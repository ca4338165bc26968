import Type from 'typebox'
import {
  chipCommandStates,
  chipCommands,
  putDataMost,
  requestedChipCommands,
} from '../../../domain/chip-command.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

const instant = Type.String({ format: 'date-time' })
const commandNumber = Type.Integer({
  description: 'The `sequence` of the event that reports the queueing; tag 9F18 in messages.',
  examples: [7],
})

export const CardChipSchema = Type.Object({
  chips: Type.Array(
    Type.Object({
      panSequenceNumber: Type.String({ examples: ['00'] }),
      highestAtc: Type.Integer({ description: 'The highest transaction counter.', examples: [12] }),
      keyVersion: Type.Integer({ examples: [1] }),
      remainingOfflineTries: Type.Optional(
        Type.Integer({ description: 'Of the PIN in the chip, if it has reported it.' }),
      ),
      reportedAt: Type.Optional(instant),
    }),
  ),
  commands: Type.Array(
    Type.Object({
      commandNumber,
      command: Type.Enum([...chipCommands]),
      state: Type.Enum([...chipCommandStates]),
      tag: Type.Optional(Type.String({ examples: ['9F58'] })),
      queuedAt: instant,
      sentCount: Type.Integer({ description: 'How many answers carried it.' }),
      sentAt: Type.Optional(instant),
      endedAt: Type.Optional(instant),
    }),
  ),
})

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
    value: Type.Optional(
      Type.String({
        minLength: 2,
        maxLength: 2 * putDataMost,
        pattern: stringPatterns.hexadecimal,
        description: 'With `put_data`: the value, which must be no secret.',
        examples: ['03'],
      }),
    ),
  },
  closed,
)

export const QueuedChipCommandSchema = Type.Object({
  commandNumber,
  command: Type.Enum([...requestedChipCommands]),
  state: Type.Enum(['pending']),
})
