import Type from 'typebox'

const instant = (description: string) => Type.String({ format: 'date-time', description })

const personMembers = {
  personId: Type.String({
    description: 'The id of this person in records.',
    examples: ['person-5f2b0c1d9e8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c'],
  }),
  issuer: Type.String({ description: '`iss`: the identity provider.' }),
  subject: Type.String({ description: "`sub`: the person's id at the identity provider." }),
  name: Type.String({ description: 'As the identity provider stated it at the last sign-in.' }),
  roles: Type.Array(Type.String(), { description: 'At the last sign-in.' }),
  firstSignedInAt: instant('The first sign-in here.'),
  lastSignedInAt: instant('The last sign-in.'),
  openSessions: Type.Integer({ description: 'The number of open sessions.' }),
}

/** A person who has signed in. */
export const PersonSchema = Type.Object(personMembers)

/** A person with each open session. */
export const PersonDetailSchema = Type.Object({
  ...personMembers,
  sessions: Type.Array(
    Type.Object({
      sessionId: Type.String(),
      roles: Type.Array(Type.String()),
      authenticatedAt: instant('When the identity provider last authenticated the person.'),
      startedAt: instant('The session ends 8 hours later.'),
      seenAt: instant('The last visit, to 20 seconds. The session ends 15 minutes later.'),
    }),
    { description: 'Newest first, at most 100.' },
  ),
})

export const SessionsEndedSchema = Type.Object({
  sessionsEnded: Type.Integer({ description: 'The number of ended sessions.' }),
})
