import { type TSchema, Type } from 'typebox'
import { type ModelParamValues, modelParams } from '../../contract/model-params.ts'
import { readJsonShape, type Shape, text } from './yaml-shape.ts'

/** What is left of a value after its invalid parts were reported and omitted. */
type Read<Value> = Value extends readonly (infer Item)[]
  ? readonly (Read<Item> | undefined)[]
  : Value extends object
    ? { readonly [Name in keyof Value]?: Read<Value[Name]> }
    : Value

type Values = Omit<ModelParamValues, 'vertex_credentials'> & { readonly vertex_credentials: string }

/** Parameters of a model as they were read. Texts of a service account are not parsed. */
export type ModelParams = Pick<Values, 'model'> & Read<Omit<Values, 'model'>>

/** An entry of `model_list` with exactly one of the two parameter blocks. `model_info` comes from LiteLLM. */
export interface ModelEntry {
  readonly model_name: string
  readonly params?: ModelParams
  readonly litellm_params?: ModelParams
  readonly model_info?: { readonly base_model?: string }
}

/** Returns the shape of the values of a schema. Unions are texts; separate rules check lengths and patterns of texts. */
function shapeOf(schema: TSchema): Shape {
  if (Type.IsBoolean(schema)) return { kind: 'flag' }
  if (Type.IsInteger(schema)) return { kind: 'whole', min: minimumOf(schema) }
  if (Type.IsNumber(schema)) return { kind: 'number', min: minimumOf(schema) }
  if (Type.IsArray(schema)) return { kind: 'list', of: shapeOf(schema.items) }
  if (Type.IsObject(schema)) return { kind: 'block', keys: shapesOf(schema.properties) }
  if (Type.IsRecord(schema)) return { kind: 'by name', of: text }
  return text
}

const minimumOf = (schema: TSchema): number => ('minimum' in schema ? Number(schema.minimum) : 0)

const shapesOf = (schemas: Readonly<Record<string, TSchema>>): Record<string, Shape> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, shapeOf(schema)]))

const params: Shape = { kind: 'block', keys: shapesOf(modelParams) }

/** Shape of an entry of `model_list`. */
export const modelEntry: Shape = {
  kind: 'block',
  keys: {
    model_name: text,
    params,
    litellm_params: params,
    model_info: { kind: 'block', keys: { base_model: text }, ignoresOthers: true },
  },
}

/** Reads a model in JSON like an entry of the file, except that its texts cannot refer to environment variables. */
export const readModelEntry = (value: unknown, report: (problem: string) => void): Partial<ModelEntry> =>
  // Safe: the value was built from the shape of an entry.
  (readJsonShape(value, modelEntry, report) ?? {}) as Partial<ModelEntry>
