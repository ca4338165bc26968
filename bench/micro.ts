import { readFileSync } from 'node:fs'
import { randomUUID, randomBytes } from 'node:crypto'
import pg from 'pg'
import { loadSharedStatements } from '../src/storage/engine/statements.ts'
import { readCards } from './network.ts'
import { runBench } from './support.ts'
const ticks = (pid) => { const s = readFileSync(`/proc/${pid}/stat`, 'utf8'); const f = s.slice(s.lastIndexOf(')') + 2).split(' '); return Number(f[11]) + Number(f[12]) }
const uuid7 = () => { const b = randomBytes(16); b.writeUIntBE(Date.now(), 0, 6); b[6] = 0x70 | (b[6] & 15); b[8] = 0x80 | (b[8] & 63); const h = b.toString('hex'); return `${h.slice(0,8)}-${h.slice(8,12)}-${h.slice(12,16)}-${h.slice(16,20)}-${h.slice(20)}` }
await runBench(async (bench) => {
  const service = await bench.startService()
  const cards = await readCards(service, 300)
  service.child.kill('SIGTERM'); 
  const client = new pg.Client(bench.databaseUrl); await client.connect()
  await client.query("set plan_cache_mode = force_generic_plan")
  const pid = (await client.query('select pg_backend_pid() as p')).rows[0].p
  const shared = loadSharedStatements(new URL('../src/storage/authorizations/begin.ts', import.meta.url).href)
  const sharedSettle = loadSharedStatements(new URL('../src/storage/authorizations/settle.ts', import.meta.url).href)
  const capture = (declare) => { let s; return (values) => { declare({ change: (st, _, v) => { s = { st, v }; return null } }, 'x', values); return s } }
  const begin = capture(shared.declareAct('begin_authorization'))
  const settle = capture(sharedSettle.declareAct('settle_authorization'))
  const run = async (list, several) => { const { st } = list[0]; const v = list[0].v.map((_, i) => list.map(({ v }) => v[i])); return client.query({ name: st.several.name, text: st.several.text, values: v }) }
  const net = service.sandbox.network.clientId
  const fps = (await client.query(`select public_token, '\\x' || encode(pan_fingerprint, 'hex') as fp from pan_fingerprint`)).rows
  const fpOf = new Map(fps.map((r) => [r.public_token, r.fp]))
  const runOne = async ({st, v}) => client.query({ name: st.one.name, text: st.one.text, values: v })
  if (process.env.SQL) await client.query(process.env.SQL)
  console.log('PID', pid)
  let at = 0
  if (process.env.EXPLAIN) {
    const ids = Array.from({ length: 8 }, () => ({ card: cards[at++ % cards.length], id: uuid7() }))
    const list = ids.map(({ card, id }) => begin({ publicToken: null, panFingerprints: fpOf.get(card.publicToken), kind: 'pin', currentMonth: '2026-11', expiryMonth: null, zoneKeyName: null, zoneKeyBlock: null, authorizationId: id, networkId: net, requestId: randomUUID(), reference: id.slice(0, 12), entryMode: 'chip', claimantId: null, keyHashes: null, requestFingerprint: null, claimId: null, transactionHashes: null, messageClass: null, trace: null, transmittedAt: null, acquirer: null }))
    await run(list); await client.query('load $$auto_explain$$'.replaceAll('$$', "'"))
    await client.query('set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_analyze = on; set auto_explain.log_buffers = on; set client_min_messages = log')
    client.on('notice', (n) => console.log(n.message))
    const list2 = ids.map((_, i) => list[i]); const rows = Array.from({length: 2}, (_, i) => { const c = { ...list2[i], v: [...list2[i].v] }; return c })
    for (const r of rows) r.v = r.v.map((x) => typeof x === 'string' && /^[0-9a-f]{8}-.{27}$/.test(x) ? uuid7() : x)
    await run(rows)
    await client.end(); return
  }
  const limit = Number(process.argv[2] ?? 6000)
  for (const batch of (process.env.BATCHES ?? '1,4,8,16,32').split(',').map(Number)) {
    let [tb, ts, n] = [0, 0, 0]
    let [wb, ws] = [0, 0]
    while (n < limit) {
      const ids = Array.from({ length: batch }, () => ({ card: cards[at++ % cards.length], id: uuid7() }))
      const list = ids.map(({ card, id }) => begin({ publicToken: null, panFingerprints: fpOf.get(card.publicToken), kind: 'pin', currentMonth: '2026-11', expiryMonth: null, zoneKeyName: null, zoneKeyBlock: null, authorizationId: id, networkId: net, requestId: randomUUID(), reference: id.slice(0, 12), entryMode: 'chip', claimantId: null, keyHashes: null, requestFingerprint: null, claimId: null, transactionHashes: null, messageClass: null, trace: null, transmittedAt: null, acquirer: null }))
      let t0 = ticks(pid), w0 = performance.now()
      const { rows } = batch === 1 ? await runOne(list[0]) : await run(list)
      tb += ticks(pid) - t0; wb += performance.now() - w0
      if (rows.length !== batch || rows.some((r) => r.outcome !== 'spent')) { console.log(rows.map(r=>r.outcome)); process.exit(1) }
      const byOrd = new Map(rows.map((r) => [r.ordinal ?? 1, r]))
      const list2 = ids.map(({ card, id }, i) => { const r = byOrd.get(i + 1); return settle({ publicToken: r.publicToken, authorizationId: id, kind: 'pin', tryNumber: r.tryNumber, epoch: r.epoch, comparison: 'match', responseCode: '00', checks: '[{"check":"card","result":"passed","afterMs":1},{"check":"status","result":"passed","afterMs":2},{"check":"pin","result":"passed","afterMs":3}]', durationMs: 4, requestId: 'r', reference: 'x', entryMode: 'chip', claimantId: null, claimKey: null, claimId: null, answer: null, foreseenTries: null }) })
      t0 = ticks(pid); w0 = performance.now()
      const r2 = batch === 1 ? await runOne(list2[0]) : await run(list2)
      ts += ticks(pid) - t0; ws += performance.now() - w0
      n += batch
    }
    console.log(`batch ${batch}: begin cpu ${(tb * 1e4 / n).toFixed(0)} wall ${(wb * 1e3 / n).toFixed(0)}; settle cpu ${(ts * 1e4 / n).toFixed(0)} wall ${(ws * 1e3 / n).toFixed(0)} µs each`)
  }
  if (process.argv[3]) {
    console.log((await client.query('select funcname, calls, (total_time*1000/calls)::int as total, (self_time*1000/calls)::int as self from pg_stat_user_functions order by 4 desc')).rows)
  }
  await client.end()
})
