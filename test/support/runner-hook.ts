/**
 * What lets Node's test runner know which test a promise belongs to: a hook into the making and the end of
 * each one. It makes a promise twelve times as dear, and a third of all processor time of tests that run in
 * one process went into it. It is needed while a file says which tests it has. What a test throws into
 * nowhere without it ends the process, and with it the run, under no test's name.
 *
 * Loaded before the runner begins (`node --import`), it takes hold of the hook as that is switched on; where
 * it was not, or where Node comes to do without, everything stays as Node has it.
 */
import { type AsyncHook, createHook } from 'node:async_hooks'

const held: { hook?: AsyncHook } = {}

const hooks = Object.getPrototypeOf(createHook({})) as AsyncHook
const { enable } = hooks

hooks.enable = function (this: AsyncHook) {
  held.hook = this
  hooks.enable = enable
  return enable.call(this)
}

/** A test that is made while this is on belongs to the one that it is called in. */
export const followPromises = (follow: boolean): void => {
  if (follow) held.hook?.enable()
  else held.hook?.disable()
}
