import assert from 'node:assert/strict'
import type pg from 'pg'

/** A node of a plan, as PostgreSQL tells it in JSON. */
export interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: Plan[]
  [detail: string]: unknown
}

/** Has the server tell the plan of whatever it executes, statements within functions among it. */
export const tellPlans = `load 'auto_explain';
  set auto_explain.log_min_duration = 0;
  set auto_explain.log_analyze = on;
  set auto_explain.log_timing = off;
  set auto_explain.log_nested_statements = on;
  set auto_explain.log_format = json;
  set auto_explain.log_level = notice`

/** The plans of what some work executes on a connection that tells them. */
export async function collectPlans(
  client: pg.Client,
  work: () => Promise<unknown>,
): Promise<Plan[]> {
  const plans: Plan[] = []
  const note = ({ message }: { message?: string | undefined }) => {
    const [, plan] = /^duration: .* plan:\n(.*)$/s.exec(message ?? '') ?? []
    if (plan !== undefined) plans.push(JSON.parse(plan).Plan)
  }
  client.on('notice', note)
  try {
    await work()
  } finally {
    client.off('notice', note)
  }
  assert.ok(plans.length > 0, 'the server tells plans')
  return plans
}

/**
 * Rows of tables that a plan came by, those that it threw away among them.
 * @param table null: of all tables
 */
export const rowsRead = (plan: Plan, table: string | null = null): number => {
  const details = Object.entries(plan)
  const isOfTable =
    table === null
      ? 'Relation Name' in plan || 'Index Name' in plan
      : plan['Relation Name'] === table
  const rows = details
    .filter(([detail]) => detail === 'Actual Rows' || detail.startsWith('Rows Removed by'))
    .reduce((sum, [, count]) => sum + Number(count), 0)
  const own = isOfTable ? rows * plan['Actual Loops'] : 0
  return own + (plan.Plans ?? []).reduce((sum, child) => sum + rowsRead(child, table), 0)
}
