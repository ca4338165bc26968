import type { Static, TSchema } from 'typebox'
import type { Scope } from '../domain/client.ts'
import type { Person } from '../domain/person.ts'
import type { Problem } from '../domain/problem.ts'
import type { Access } from '../listeners/http/authentication.ts'
import { type Html, html } from '../listeners/http/html.ts'

/** An answer of the private listener. */
export interface ApiAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON; otherwise text. */
  readonly body: unknown
}

/** A signed-in person's visit to a screen. */
export interface Visit {
  readonly person: Person
  /**
   * The person's scopes: a screen shows no button whose call would be refused. Without scopes for
   * changes in a read-only console.
   */
  readonly scopes: ReadonlySet<Scope>
  /** Whether this installation has the parts of a sandbox. */
  readonly isSandbox: boolean
  /** Whether the console is read-only. */
  readonly isReadOnly: boolean
  /** A hidden field of each form, added by `formFields`; a form without it is refused. */
  readonly formToken: string
  /** The path and query of the visit. */
  readonly here: string
  readonly params: Readonly<Record<string, string>>
  /** The fields of a refused form of this page, shown again in it. */
  readonly kept: Form
  /** The form of this page that was refused, shown with its faults; null without one. */
  readonly refused: RefusedForm | null
  /** Of repeated values, the last. */
  readonly query: Readonly<Record<string, string>>
  /**
   * Reads from the private listener as this person; a screen has no other access.
   * @throws `Problem` of the listener
   */
  read<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>>
  /**
   * Calls the private listener as this person. A POST has the idempotency key of its form; of
   * several POSTs, the first has that key and each other one its own. An error answer is returned,
   * not thrown.
   */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<ApiAnswer>
  /** Counts the approvals that wait for this person, once for a page. */
  countWaitingApprovals(): Promise<number>
}

/** A form that was refused, or that waited for a sign-in. Its page shows it open. */
export interface RefusedForm {
  /** The path that the form was sent to. */
  readonly action: string
  readonly problem: Pick<Problem, 'title' | 'detail' | 'errors' | 'status'>
}

/** The way from a list to a page. */
export interface Trail {
  /** The pages above, the list first. */
  readonly above: readonly { readonly name: string; readonly path: string }[]
  /** The short name of the page itself. */
  readonly name: string
}

/** The content of a page. */
export interface Page {
  readonly title: string
  /** Shown above the title; none on a page of the navigation. */
  readonly trail?: Trail
  readonly body: Html
  /** 200 unless given. */
  readonly status?: number
  /** A file that the browser saves in place of the page. */
  readonly file?: PageFile
}

/** A file that a page is answered with. */
export interface PageFile {
  readonly name: string
  readonly mediaType: string
  readonly lines: AsyncIterable<string>
}

/** A page of the console. */
export interface Screen {
  /** `/console/cards/:publicToken` */
  readonly path: string
  /** The alternative scopes of the screen, as of a route; `anyone` for all signed-in people. */
  readonly access: Exclude<Access, 'open'> | 'anyone'
  /** Its name in the navigation; null if it is not part of it. */
  readonly navigation: string | null
  /** The title of its group in the navigation; none for the first screen. */
  readonly group?: string
  show(visit: Visit): Promise<Page>
}

/** A form's fields by name; repeated values are separated by a line feed. */
export type Form = Readonly<Record<string, string>>

/** The outcome of a form, for the page after it. It is shown once; reloading does not repeat it. */
export interface Notice {
  /** `plain` unless given. */
  readonly tone?: 'good' | 'bad' | 'plain'
  /** The first line states the outcome; the others add details in smaller type. */
  readonly lines: readonly string[]
  readonly link?: { readonly href: string; readonly text: string }
}

/** The target of a form and the notice there. */
export interface Lead {
  readonly to: string
  readonly notice?: Notice
  /** Fields that the form there shows again. Never a PIN or a CVV. */
  readonly kept?: Form
}

/** The handler of a form. */
export interface Act {
  readonly path: string
  readonly access: Exclude<Access, 'open'> | 'anyone'
  /** Whether it changes nothing and works in a read-only console: a search. */
  readonly readsOnly?: boolean
  /**
   * @returns the target of a redirect (303), or a page
   * @throws `Problem` of the listener. The form's page then shows it with what was typed.
   */
  perform(visit: Visit, form: Form): Promise<Lead | Page>
}

/** The names of a form's hidden fields: the required token and the idempotency key. */
export const formFieldNames = { token: 'form-token', key: 'form-key' } as const

/**
 * Renders the hidden fields of each form: `<form method="post" action="…">${formFields(visit)}…`.
 * They make a repeated form act once.
 */
export const formFields = ({ formToken }: Pick<Visit, 'formToken'>): Html =>
  html`<input type="hidden" name="${formFieldNames.token}" value="${formToken}">
    <input type="hidden" name="${formFieldNames.key}" value="${crypto.randomUUID()}">`

/**
 * Builds a path; each value is one segment, or one value of the query: ``
 * path`/cards/${publicToken}` ``.
 */
export const path = (parts: TemplateStringsArray, ...values: readonly string[]): string =>
  // A segment of dots only would change the path, encoded or not.
  String.raw(
    { raw: parts },
    ...values.map((value) => (/^\.{1,2}$/.test(value) ? '%00' : encodeURIComponent(value))),
  )
