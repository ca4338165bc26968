/**
 * The words and phrases that `npm run check:lint` warns of. A row is a habit that made a reader
 * read a sentence twice, and what to write in its place.
 */

export interface Phrase {
  readonly pattern: RegExp
  readonly better: string
  /** Whether only the first sentence of a comment is checked. */
  readonly onlyFirstOfComment?: true
}

export const phrases: readonly Phrase[] = [
  { pattern: /\b(?:whoever|whomever)\b/i, better: 'name the caller or person' },
  { pattern: /\b(?:no|some|any|every)body\b/i, better: 'name the caller or person' },
  { pattern: /\bwhom\b/i, better: 'a noun and a verb: “the person that …”' },
  { pattern: /\b(?:thereby|hence|thereof|hitherto)\b/i, better: 'so' },
  { pattern: /\bas it stands\b/i, better: 'now, present, unchanged' },
  { pattern: /\bby itself\b/i, better: 'automatically, alone, separately' },
  {
    pattern: /\b(?:is|are|was|were) told\b(?! (?:apart|from))|\btold of\b/i,
    better: 'reports, states, notifies',
  },
  { pattern: /\b(?:is|are|was|were) away\b/i, better: 'outage, unavailable, does not answer' },
  { pattern: /\b(?:go|goes|going|gone) on with\b/i, better: 'continues, resumes' },
  { pattern: /\bthere (?:is|are|was|were) none\b/i, better: 'repeat the noun: “without a …”' },
  { pattern: /\b(?:is|are) no more\b/i, better: 'no longer' },
  { pattern: /\bnot so any more\b/i, better: 'no longer' },
  { pattern: /\bwhat (?:is|was) (?:left|known|kept|asked|given) of\b/i, better: 'a noun' },
  { pattern: /\bwhat (?:became|comes|came) of\b/i, better: 'outcome, result' },
  { pattern: /\b(?:put|puts|putting) (?:\w+ ){0,3}on record\b/i, better: 'records' },
  {
    pattern: /\b(?:is|are|was|were) passed over\b|\bpass(?:es)? over\b/i,
    better: 'ignores, skips',
  },
  { pattern: /\b(?:let|lets) go of\b/i, better: 'releases' },
  { pattern: /\b(?:is|are|was|were) taken for\b/i, better: 'counts as' },
  { pattern: /\b(?:is|are|was|were) to be had\b/i, better: 'is available' },
  {
    pattern: /\bso manyth\b|\bfor so long\b(?!,| that)|\bby so much\b/i,
    better: 'a number with its noun',
  },
  { pattern: /\bat hand\b/i, better: 'available' },
  { pattern: /\b(?:is|are|was|were) of (?:no )?use\b/i, better: 'useful, can use' },
  { pattern: /\b(?:carried|carry|carries|carrying) out\b/i, better: 'executes' },
  {
    pattern: /\btakes? in\b|\btaken in\b(?! (?:a|the|this|one|order)\b)/i,
    better: 'imports, accepts',
  },
  { pattern: /\btells? apart\b/i, better: 'distinguishes' },
  { pattern: /\blooks? (?:after|whether)\b/i, better: 'checks, manages' },
  { pattern: /\b(?:forgets?|(?:is|are|was|were) forgotten)\b/i, better: 'deletes, expires' },
  { pattern: /^(?:What|Who|Whose|Whom)\b/, better: 'a noun phrase', onlyFirstOfComment: true },
  { pattern: /^(?:Of|Under|To|For|By) (?:what|which|whom|those)\b/i, better: 'a noun phrase' },
]
