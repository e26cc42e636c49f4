import assert from "node:assert/strict";
import { test } from "node:test";
import { slugger, slugify, truncate } from "../src/index.js";

test("slugify joins lower-case words", () => {
  assert.equal(slugify("  Hello, World!  "), "hello-world");
});

test("slugify takes accents off and spells signs out", () => {
  assert.equal(slugify("Crème brûlée & friends"), "creme-brulee-and-friends");
  assert.equal(slugify("Straße 50%"), "strasse-50-percent");
});

test("slugify keeps contractions together", () => {
  assert.equal(slugify("Don't panic"), "dont-panic");
});

test("slugify takes another separator", () => {
  assert.equal(slugify("The quick brown fox", { separator: "_", max: 12 }), "the_quick");
});

test("truncate leaves short slugs alone", () => {
  assert.equal(truncate("the-quick", 9), "the-quick");
});

test("truncate does not cut a word in two", () => {
  assert.equal(truncate("the-quick-brown-fox", 12), "the-quick");
});

test("truncate keeps a word that just fits", () => {
  assert.equal(truncate("the-quick-brown-fox", 9), "the-quick");
});

test("truncate cuts a first word that is too long", () => {
  assert.equal(truncate("incomprehensibilities", 10), "incomprehe");
});

test("slugger never gives the same slug twice", () => {
  const unique = slugger();
  assert.deepEqual([unique("Hello"), unique("hello!"), unique("Hello")], ["hello", "hello-2", "hello-3"]);
});

test("slugger names what has no letters, and stays within max", () => {
  const unique = slugger({ max: 8 });
  assert.deepEqual([unique("?!"), unique("…"), unique("Longwords")], ["untitled", "untitl-2", "longword"]);
});
