<?php

class ApnsPHP_Push_Exception extends ApnsPHP_Exception
{
}
