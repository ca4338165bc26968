/** The rules for the code. Each returns the faults of one file as sentences that name the place. */
import { arrows, findRoom, forbiddenArrow, forbiddenPackage } from './arrows.ts'
import type { Source } from './read-source.ts'

/** Names without a meaning in the field. The last word of a name counts: `card-manager`. */
const forbiddenNames = ['utils', 'helpers', 'common', 'shared', 'lib', 'core', 'manager']

/** The beginning of a statement: keywords in one case, so that “Select a card” is a sentence. */
const keyword = /^\s*(?:[a-z]+|[A-Z]+)\s/
const statementStarts = [
  /^\s*select\s+\S/i,
  /^\s*insert\s+into\s/i,
  /^\s*update\s+\S+\s+(?:(?:as\s+)?\w+\s+)?set\s/i,
  /^\s*delete\s+from\s/i,
  /^\s*with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s+(?:(?:not\s+)?materialized\s*)?\(/i,
]

const isSql = (text: string): boolean =>
  keyword.test(text) && statementStarts.some((start) => start.test(text))

type Rule = (source: Source) => readonly string[]

const knownRoom: Rule = ({ path }) =>
  findRoom(path) in arrows ? [] : [`${path}: there is no room “${findRoom(path)}” in the house`]

const arrow: Rule = ({ path, imports }) =>
  imports.flatMap(({ line, specifier, path: to }) => {
    const reason = to ? forbiddenArrow(path, to) : forbiddenPackage(path, specifier)
    return reason ? [`${path}:${line} imports ${to ?? specifier}: ${reason}`] : []
  })

const names: Rule = ({ path }) =>
  path
    .split('/')
    .map((segment) => segment.replace(/\..*$/, ''))
    .filter((name) => forbiddenNames.includes(name.split('-').at(-1) ?? name))
    .map((name) => `${path}: “${name}” does not belong to the field`)

const sqlInStorage: Rule = ({ path, literals }) =>
  path.startsWith('src/storage/')
    ? []
    : literals
        .filter(({ text }) => isSql(text))
        .map(({ line }) => `${path}:${line} holds SQL, which belongs in src/storage`)

/** The command line calls a server that a person names, and the doctor calls this machine. */
const mayCall = ['src/outbound/', 'src/cli/', 'src/service/doctor/listeners.ts']

const oneWayOut: Rule = ({ path, callingLines }) =>
  !path.startsWith('src/') || mayCall.some((start) => path.startsWith(start))
    ? []
    : callingLines.map((line) => `${path}:${line} calls out: only src/outbound may`)

const noLiteralSpread: Rule = ({ path, literalSpreadLines }) =>
  literalSpreadLines.map((line) => `${path}:${line} spreads a literal: write its members out`)

const noLongLine: Rule = ({ path, longLines }) =>
  longLines.map((line) => describeLongLine(`${path}:${line}`))

/** Composes the fault of a long line at `path:line`. */
export const describeLongLine = (place: string): string => `${place} has more than 100 columns`

const noReminder: Rule = ({ path, reminders }) =>
  reminders.map(({ line, word }) => `${path}:${line} ${word}: do it, or file it`)

export const rules: readonly Rule[] = [
  knownRoom,
  arrow,
  names,
  sqlInStorage,
  oneWayOut,
  noLiteralSpread,
  noLongLine,
  noReminder,
]
