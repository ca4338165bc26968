import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'

type ValidatorCompiler = FastifySchemaCompiler<unknown>
type SerializerCompiler = FastifySerializerCompiler<unknown>
type BuildValidator = ReturnType<typeof AjvCompiler>
type BuildSerializer = ReturnType<typeof SerializerSelector>

/**
 * Returns the framework's compilers of schemas, which compile each schema at the first call that
 * needs it. Compiling all schemas would be most of a start, and a process rarely needs all.
 */
export function compilersOnFirstUse() {
  const buildValidator = AjvCompiler()
  const buildSerializer = SerializerSelector()
  // The framework calls them with a narrower type than the published one.
  const validators: BuildValidator = (...given) =>
    onFirstValidation(buildValidator(...given) as ValidatorCompiler) as ReturnType<BuildValidator>
  const serializers: BuildSerializer = (...given) =>
    onFirstAnswer(buildSerializer(...given) as SerializerCompiler) as ReturnType<BuildSerializer>
  return { buildValidator: validators, buildSerializer: serializers }
}

const onFirstValidation =
  (compile: ValidatorCompiler): ValidatorCompiler =>
  (route) => {
    let compiled: ReturnType<ValidatorCompiler> | undefined
    const validate: ReturnType<ValidatorCompiler> = (value) => {
      compiled ??= compile(route)
      const isValid = compiled(value)
      // The framework reads the errors from the function that it called.
      validate.errors = compiled.errors ?? null
      return isValid
    }
    return validate
  }

const onFirstAnswer =
  (compile: SerializerCompiler): SerializerCompiler =>
  (route) => {
    let compiled: ReturnType<SerializerCompiler> | undefined
    return (answer) => {
      compiled ??= compile(route)
      return compiled(answer)
    }
  }
