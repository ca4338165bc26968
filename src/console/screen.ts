import type { Static, TSchema } from 'typebox'
import type { Scope } from '../domain/client.ts'
import type { Person } from '../domain/person.ts'
import type { Access } from '../listeners/http/authentication.ts'
import { type Html, html } from '../listeners/http/html.ts'

/** What the private listener answered. */
export interface ApiAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, or the text of an answer that is none. */
  readonly body: unknown
}

/** A signed-in person's visit to a screen. */
export interface Visit {
  readonly person: Person
  /**
   * What the person may do here: a screen shows no button that would be refused. Without what
   * changes, where the console may only be read.
   */
  readonly scopes: ReadonlySet<Scope>
  /** Whether this installation has what only a sandbox has. */
  readonly isSandbox: boolean
  /** Whether nothing may be changed here, by whomever. */
  readonly isReadOnly: boolean
  /** Goes into each form, by `formFields`: who sends one without it is refused. */
  readonly formToken: string
  /** The path and query that it came by, to come back to. */
  readonly here: string
  readonly params: Readonly<Record<string, string>>
  /** What was typed into a form of this page that was refused, and is shown in it again. */
  readonly kept: Form
  /** Of several values under one name, the last. */
  readonly query: Readonly<Record<string, string>>
  /**
   * Reads from the private listener, as this person: there is no other way to anything.
   * @throws `Problem`, that which the listener answered
   */
  read<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>>
  /**
   * Calls the private listener, as this person. A POST carries the idempotency key of the form that
   * it comes from, of several the first its key, and each its own. It throws nothing of what is
   * answered.
   */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<ApiAnswer>
}

/** What is shown. */
export interface Page {
  readonly title: string
  readonly body: Html
  /** 200 unless given. */
  readonly status?: number
}

/** A page of the console. */
export interface Screen {
  /** `/console/cards/:publicToken` */
  readonly path: string
  /** The scopes of which one is needed, as of a route; `anyone` who is signed in. */
  readonly access: Exclude<Access, 'open'> | 'anyone'
  /** Its name in the navigation; null where no link of that leads to it. */
  readonly navigation: string | null
  show(visit: Visit): Promise<Page>
}

/**
 * A form's fields by their names; the values of a name that comes several times, with a line feed
 * between.
 */
export type Form = Readonly<Record<string, string>>

/**
 * What a form came to, for the page that it leads to. It is shown once: no link and no second load
 * shows it again.
 */
export interface Notice {
  /** `plain` unless given. */
  readonly tone?: 'good' | 'plain'
  /** The first is what happened; the others say more, in small letters. */
  readonly lines: readonly string[]
  readonly link?: { readonly href: string; readonly text: string }
}

/** Where a form leads, and what the page there says once. */
export interface Lead {
  readonly to: string
  readonly notice?: Notice
  /** Fields that the form there shows again. Never a PIN or a CVV. */
  readonly kept?: Form
}

/** What a form of the console does. */
export interface Act {
  readonly path: string
  readonly access: Exclude<Access, 'open'> | 'anyone'
  /** Whether it changes nothing, and is there in a console that may only be read: a search. */
  readonly readsOnly?: boolean
  /**
   * @returns where to go from there (303), or a page that says what was wrong, the form in it
   *   again.
   */
  perform(visit: Visit, form: Form): Promise<Lead | Page>
}

/**
 * The fields of a form by their names: the token that it must have, and the idempotency key of what
 * it does.
 */
export const formFieldNames = { token: 'form-token', key: 'form-key' } as const

/**
 * Renders the hidden fields of each form: `<form method="post" action="…">${formFields(visit)}…`.
 * They make a repeated form act once.
 */
export const formFields = ({ formToken }: Pick<Visit, 'formToken'>): Html =>
  html`<input type="hidden" name="${formFieldNames.token}" value="${formToken}">
    <input type="hidden" name="${formFieldNames.key}" value="${crypto.randomUUID()}">`

/**
 * A path whose values are each one segment, or one value of its query, whatever they are:
 * `` path`/cards/${publicToken}` ``.
 */
export const path = (parts: TemplateStringsArray, ...values: readonly string[]): string =>
  // A segment that is nothing but points would lead elsewhere, encoded or not.
  String.raw(
    { raw: parts },
    ...values.map((value) => (/^\.{1,2}$/.test(value) ? '%00' : encodeURIComponent(value))),
  )
