import Type from 'typebox'

const instant = (description: string) => Type.String({ format: 'date-time', description })

const personMembers = {
  personId: Type.String({
    description: 'What acts of this person are recorded under.',
    examples: ['person-5f2b0c1d9e8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c'],
  }),
  issuer: Type.String({ description: '`iss`: who knows the person.' }),
  subject: Type.String({ description: '`sub`: as whom.' }),
  name: Type.String({ description: 'As the issuer said at the last sign-in.' }),
  roles: Type.Array(Type.String(), { description: 'Of the last sign-in.' }),
  firstSignedInAt: instant('The first sign-in here.'),
  lastSignedInAt: instant('The last sign-in.'),
  openSessions: Type.Integer({ description: 'Sessions that are neither ended nor over.' }),
}

/** A person who has signed in. */
export const PersonSchema = Type.Object(personMembers)

/** The same, with each open session. */
export const PersonDetailSchema = Type.Object({
  ...personMembers,
  sessions: Type.Array(
    Type.Object({
      sessionId: Type.String(),
      roles: Type.Array(Type.String()),
      authenticatedAt: instant('When the issuer last made sure who it is.'),
      startedAt: instant('It ends 8 hours later.'),
      seenAt: instant('The last visit, to 20 seconds. It ends 15 minutes later.'),
    }),
    { description: 'The newest first, 100 at most.' },
  ),
})

export const SessionsEndedSchema = Type.Object({
  sessionsEnded: Type.Integer({ description: 'How many there were.' }),
})
