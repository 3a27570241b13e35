/**
 * Finds where a test measures the clock: what it does there depends on how fast the machine is.
 *
 * @module
 */
import ts from "typescript";

/** A place, and what is wrong with it. */
export interface Finding {
  readonly line: number;
  readonly what: string;
  /** The code, on one line. */
  readonly code: string;
}

/** As long as a test may take: a limit that is no shorter is not the subject of the test. */
const MINUTE_MS = 60_000;

const COMPARISONS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
]);
const DURATION = /(elapsed|duration|took|milliseconds|seconds|[a-z]Ms)\)?$|^ms$|_MS$/;

/** A text without any of these measures no clock. To parse it takes longer. */
const HINT =
  /performance|Date|set(Timeout|Interval)|AbortSignal|waitFor|waitUntil|poll|Than|timeout|[\s,]\d[\d_]*,?\s*\)/;

/** Reads a source of TypeScript or JavaScript. */
export function findClocks(text: string): readonly Finding[] {
  if (!HINT.test(text)) return [];
  const source = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest, true);
  const names = readNames(source);
  const findings: Finding[] = [];
  const visit = (node: ts.Node): void => {
    const what = judge(node, names);
    if (what !== undefined) {
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      findings.push({ line, what, code: node.getText().replace(/\s+/g, " ").slice(0, 90) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return findings;
}

/** What names of a file stand for. */
interface Names {
  /** Constants that are numbers. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Functions that sleep: `setTimeout` of node:timers/promises, or made by `promisify`. */
  readonly sleeps: ReadonlySet<string>;
}

function readNames(source: ts.SourceFile): Names {
  const numbers = new Map<string, number>();
  const sleeps = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && /["'](node:)?timers\/promises["']/.test(node.moduleSpecifier.getText())) {
      const bindings = node.importClause?.namedBindings;
      for (const { name, propertyName } of bindings && ts.isNamedImports(bindings) ? bindings.elements : []) {
        if (/^set(Timeout|Interval)$/.test((propertyName ?? name).text)) sleeps.add(name.text);
      }
    }
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      const number = numberOf(node.initializer, numbers);
      if (number !== undefined) numbers.set(node.name.text, number);
      if (/^promisify\(setTimeout\)$/.test(node.initializer.getText())) sleeps.add(node.name.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { numbers, sleeps };
}

/** The value of a literal, of a constant, and of their products. */
function numberOf(node: ts.Node | undefined, numbers: Names["numbers"]): number | undefined {
  if (node === undefined) return undefined;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (ts.isIdentifier(node)) return numbers.get(node.text);
  if (ts.isParenthesizedExpression(node)) return numberOf(node.expression, numbers);
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.AsteriskToken) return undefined;
  const [left, right] = [numberOf(node.left, numbers), numberOf(node.right, numbers)];
  return left === undefined || right === undefined ? undefined : left * right;
}

function judge(node: ts.Node, names: Names): string | undefined {
  if (ts.isBinaryExpression(node)) return judgeOperation(node);
  if (!ts.isCallExpression(node)) return undefined;
  const callee = node.expression.getText();
  if (/(^|\.)performance\.now$/.test(callee)) return "reads performance.now";
  return judgeTimer(node, callee, names) ?? judgeLimit(node, callee, names) ?? judgeExpectation(node);
}

/** `Date.now() - started`, and a comparison with `Date.now()`. A time, such as `Date.now() - 60_000`, is none. */
function judgeOperation({ left, operatorToken: { kind }, right }: ts.BinaryExpression): string | undefined {
  if (COMPARISONS.has(kind) && [left, right].some(readsDate)) return "compares Date.now";
  const isElapsed = kind === ts.SyntaxKind.MinusToken && readsDate(left) && ts.isIdentifier(right);
  return isElapsed && /start|began|begin|before|since/i.test(right.getText()) ? "measures with Date.now" : undefined;
}

/** Whether it reads the clock by itself, rather than hands on a function that does. */
function readsDate(node: ts.Node): boolean {
  if (ts.isCallExpression(node) && /^(Date\.now|new Date\(\)\.(getTime|valueOf))$/.test(node.expression.getText())) {
    return true;
  }
  if (ts.isFunctionLike(node)) return false;
  return ts.forEachChild(node, readsDate) ?? false;
}

function judgeTimer({ arguments: given }: ts.CallExpression, callee: string, names: Names): string | undefined {
  const isMeant = (delay: ts.Node | undefined) => (numberOf(delay, names.numbers) ?? 0) > 0;
  if (names.sleeps.has(callee)) return isMeant(given[0]) ? "sleeps" : undefined;
  if (/^(globalThis\.)?set(Timeout|Interval)$/.test(callee) && isMeant(given[1])) return "starts a timer";
  if (callee === "AbortSignal.timeout" && (numberOf(given[0], names.numbers) ?? 0) < MINUTE_MS) {
    return given[0] !== undefined && isMeant(given[0]) ? "gives up by the clock" : undefined;
  }
  return undefined;
}

/** The limit of a wait or of a test, where it is shorter than a minute; a wait without one has a second. */
function judgeLimit({ arguments: given }: ts.CallExpression, callee: string, names: Names): string | undefined {
  const last = given.at(-1);
  const limit = numberOf(last, names.numbers) ?? numberOf(timeoutIn(given), names.numbers);
  if (/^(vi\.waitFor|vi\.waitUntil|expect\.poll)$/.test(callee)) {
    return given.length < 2 || (limit !== undefined && limit < MINUTE_MS) ? "waits with a limit" : undefined;
  }
  const isTest = /^(test|it|beforeAll|beforeEach|afterAll|afterEach)(\.\w+)*(\(.*\))?$/s.test(callee);
  return isTest && limit !== undefined && limit < MINUTE_MS ? "has less than a minute" : undefined;
}

function timeoutIn(given: readonly ts.Expression[]): ts.Expression | undefined {
  for (const options of given.filter(ts.isObjectLiteralExpression)) {
    for (const property of options.properties) {
      if (ts.isPropertyAssignment(property) && property.name.getText() === "timeout") return property.initializer;
    }
  }
  return undefined;
}

/** `expect(elapsed).toBeLessThan(1_000)`, and what is left of a time: `expect(expiry - Date.now()).toBeGreaterThan(590)`. */
function judgeExpectation({ expression, arguments: [bound] }: ts.CallExpression): string | undefined {
  if (!ts.isPropertyAccessExpression(expression) || !ts.isCallExpression(expression.expression)) return undefined;
  const [, direction] = /^toBe(Less|Greater)Than(?:OrEqual)?$/.exec(expression.name.text) ?? [];
  const [measured] = expression.expression.arguments;
  if (direction === undefined || measured === undefined) return undefined;
  const isDuration = [measured, bound].some((each) => DURATION.test(each?.getText() ?? ""));
  const isLimit = direction === "Less" && (isDuration || /\bnow\(\)/.test(measured.getText()));
  return isLimit || readsDate(measured) ? "bounds a duration" : undefined;
}
