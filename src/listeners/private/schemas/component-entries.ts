import Type from 'typebox'
import { family, KeptVersionSchema } from './keys.ts'

const ids = Type.Array(Type.String())

/** A key that several people enter in components, with its progress. */
export const ComponentEntrySchema = Type.Object({
  entryId: Type.String(),
  family,
  target: Type.String({ description: 'The purpose of the key.' }),
  openedBy: Type.String(),
  componentCount: Type.Integer(),
  entered: Type.Array(
    Type.Object({
      componentNumber: Type.Integer(),
      person: Type.String(),
      clientId: Type.String(),
      createdBy: Type.Union([Type.String(), Type.Null()]),
      confirmedBy: ids,
      controlledBy: Type.Array(Type.String(), {
        description: 'Administrators who could act as that client when it entered the component.',
      }),
    }),
  ),
  expiresAt: Type.String({ format: 'date-time' }),
  key: Type.Union([KeptVersionSchema, Type.Null()]),
})
